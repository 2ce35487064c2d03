#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "moe/model/model.h"
#include "moe/model/published/config.h"

/// Model classes of the library transformers as declarations: which key of config.json is which key
/// of a model file. From them come the reader of config.json and its writer.
namespace moe {

using Json = nlohmann::ordered_json;

/// A value in a declaration; none: the model's key keeps the default that it has here.
using Declared = std::variant<std::monostate, bool, std::int64_t, double, std::string_view>;

/// A key of config.json that is a key of a model.
struct ConfigKey {
  std::string_view theirs, ours;
  Declared fallback{};  ///< of the class, where the file has no such key
  /// Where ours is a word and theirs is true or false: the word of either.
  std::array<std::string_view, 2> words{};
  std::string_view alias{};  ///< another name of theirs
};

/// A key of config.json that must have one value, if it is there.
struct ExpectedKey {
  std::string_view theirs;
  Declared value;
  std::string_view needed;  ///< what there is no key for here
};

/// A key of a model that is the same in every model of the class.
struct FixedKey {
  std::string_view ours;
  Declared value;
};

struct PublishedClass;

/// What no single key says: a reader, and a writer of what it reads.
struct ConfigPart {
  void (*read)(const Config& config, const PublishedClass& of, Model& model);
  void (*write)(const Model& model, const PublishedClass& of, Json& config);
};

/// Which blocks `sliding_window` is of.
enum class Windows : std::uint8_t {
  none,            ///< the class has none
  all,             ///< of all, where it is given
  all_if_used,     ///< of all, where `use_sliding_window`
  listed_if_used,  ///< of those that `layer_types` lists, where `use_sliding_window`
  listed,  ///< of those that `layer_types` lists: PublishedClass::pattern where it is missing
};

/// Of latent attention, where the file has none of them.
struct LatentSizes {
  std::int64_t rank = 512, query_rank = 1536, unturned = 128, turned = 64, value = 128;
};

/// How tensors of a class are named and laid out: tensor_names.h
struct TensorNames;

/// A class, by its `model_type`.
struct PublishedClass {
  std::string_view name;
  std::string_view architecture;  ///< the class of Python: "MixtralForCausalLM"
  std::span<const ConfigKey> keys;
  std::span<const FixedKey> fixed{};
  std::span<const ConfigPart> parts{};
  std::span<const ExpectedKey> expected{};
  bool says_interleave = false;  ///< `rope_interleave`: ConfiguredModel::turns_halves
  double rotary_base = 10000;
  double turned_share = 1;         ///< of a head's columns
  std::string_view angles = "{}";  ///< `rope_parameters` where the file has none
  LatentSizes latent{};
  Windows windows = Windows::none;
  std::int64_t window = 0;  ///< `sliding_window` where the file has none
  /// With Windows::listed: a letter a block, s where it has the window and f where it has not.
  std::string (*pattern)(const Config& config, std::int64_t blocks) = nullptr;
  /// `rope_parameters` has an object for each kind of block: parts::angles_by_kind.
  bool angles_by_kind = false;
  /// Heads turn by the part that `partial_rotary_factor` says; in other classes as wholes.
  bool turns_part = false;
  bool stretches_base = false;  ///< by `alpha` of `rope_parameters`, without regard to the length
  int dense_blocks = 0;         ///< the first ones, where no key lists them
  std::int64_t positions = 0;   ///< `max_position_embeddings` where the file has none
  /// The library counts what is added to scores among parameters.
  bool counts_router_bias = false;
  std::string_view written_type{};       ///< `model_type` of what is written; "": the name
  const TensorNames* tensors = nullptr;  ///< none: parameters are neither read nor written
};

/// All of them.
std::span<const PublishedClass> published_classes();
std::vector<std::string_view> names_of_classes();
/// Throws InputError at `type`, a `model_type`, for a class that is not among them, and says what
/// there is no key for, where that is known.
const PublishedClass& class_named(const InputValue& type);

/// Parameters of a model as the library counts them.
std::int64_t published_parameters(const Model& model, const PublishedClass& of);

/// The value as keys of models have it; none where none is declared.
std::optional<KeyValue> key_value(const Declared& declared);
/// Sets a key of a model by its name, where a value is declared.
void set_declared(Model& model, std::string_view ours, const Declared& declared);

}  // namespace moe
