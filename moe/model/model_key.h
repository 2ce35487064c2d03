#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "moe/model/model.h"

namespace moe {

/// A whole number from `least` to `most`.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
/// A number from `least` to `most`, which `text` says in words. `word`, where there is one, may
/// stand in its place and means that there is no number.
struct NumberRange {
  double least = 0;
  double most = 0;
  std::string_view text;
  std::string_view word{};
};
/// One of a list of words.
struct WordRange {
  std::vector<std::string_view> (*words)();
};
struct TrueOrFalse {};
/// Any text that is not empty.
struct AnyText {};
using KeyRange = std::variant<IntegerRange, NumberRange, WordRange, TrueOrFalse, AnyText>;

inline constexpr double kLargestNumber = std::numeric_limits<double>::max();
inline constexpr NumberRange kAboveZero{std::numeric_limits<double>::min(), kLargestNumber,
                                        "a number above 0"};
inline constexpr NumberRange kFromZero{0, kLargestNumber, "a number of at least 0"};
inline constexpr NumberRange kFromOne{1, kLargestNumber, "a number of at least 1"};
/// The largest is the last number below 1.
inline constexpr NumberRange kFromZeroToBelowOne{0, 1 - std::numeric_limits<double>::epsilon() / 2,
                                                 "a number from 0 to below 1"};
/// `range`, or `word` in place of a number.
constexpr NumberRange or_word(NumberRange range, std::string_view word) {
  range.word = word;
  return range;
}

/// Another key, `choice`, decides whether a key has a use. A model file that inherits a key from
/// its base, and chooses otherwise than the base, leaves the key behind.
struct KeyCondition {
  std::string_view choice;
  std::string_view text;  ///< "positions = \"rotary\"", as lists of keys say it
  /// Why the model has no use for a key of this value; "" where it has.
  std::string (*refusal)(const Model& model, const KeyValue& value);
};

enum class Presence : std::uint8_t {
  optional,
  required,
  required_with_experts,  ///< required where blocks have experts
};

/// What a key decides. A training goes on from a checkpoint with any values of `training`. Those of
/// `function` may be others where it is only evaluated; those of `tensors` never.
enum class KeyKind : std::uint8_t {
  training,  ///< how parameters are learnt, and how an iteration is carried out
  function,  ///< what is computed from the same parameters
  tensors,   ///< which tensors there are, their shapes, and what their rows and columns are
};

struct ModelKey;

/// Another kind that a key has in some models.
struct KindWhere {
  KeyKind kind;
  std::string_view text;  ///< "positions = \"rotary\"", as lists of keys say it
  bool (*holds)(const ModelKey& key, const Model& model);
};

/// One key of a model file, declared once. From it come the readers of TOML and JSON, the writer
/// of JSON, the list of keys, what --resume allows and the random models of tests.
struct ModelKey {
  std::string_view name;
  std::string_view table;  ///< "model", "moe", "moe.hooks", "training"; "" at the top of the file
  KeyKind kind;
  std::string_view meaning;
  KeyRange range;
  /// The value in force: the default where nothing has set it.
  KeyValue (*get)(const ModelKey& key, const Model& model) = nullptr;
  void (*set)(const ModelKey& key, Model& model, const KeyValue& value) = nullptr;
  Presence presence = Presence::optional;
  std::string_view default_text{};  ///< "d_hidden": the default where other keys decide it
  std::span<const KeyCondition> conditions{};
  /// The value of a sub-module's own key where nothing has set it.
  KeyValue (*fallback)(const Model& model) = nullptr;
  std::span<const KindWhere> other_kinds{};  ///< the first that holds comes before `kind`
};

/// "training", "function", "tensors"
std::string_view kind_name(KeyKind kind);
/// The kind that `key` has in `model`.
KeyKind kind_of(const ModelKey& key, const Model& model);

KeyValue own_value(const ModelKey& key, const Model& model);
void set_own_value(const ModelKey& key, Model& model, const KeyValue& value);

/// Declares a key of the table [moe], as a rule of one gate. Its values live in Model::own.
constexpr ModelKey own_key(KeyKind kind, std::string_view name, KeyRange range,
                           KeyValue (*fallback)(const Model& model), std::string_view meaning,
                           std::string_view default_text = {},
                           std::span<const KeyCondition> conditions = {},
                           std::span<const KindWhere> other_kinds = {}) {
  return {.name = name,
          .table = "moe",
          .kind = kind,
          .meaning = meaning,
          .range = range,
          .get = own_value,
          .set = set_own_value,
          .default_text = default_text,
          .conditions = conditions,
          .fallback = fallback,
          .other_kinds = other_kinds};
}
/// The same of the table [model], whatever the gate.
constexpr ModelKey own_model_key(KeyKind kind, std::string_view name, KeyRange range,
                                 KeyValue (*fallback)(const Model& model), std::string_view meaning,
                                 std::string_view default_text = {},
                                 std::span<const KeyCondition> conditions = {},
                                 std::span<const KindWhere> other_kinds = {}) {
  ModelKey key =
      own_key(kind, name, range, fallback, meaning, default_text, conditions, other_kinds);
  key.table = "model";
  return key;
}
/// The key of this name. Throws std::logic_error where there is none.
const ModelKey& key_named(std::span<const ModelKey> keys, std::string_view name);
/// The same of all keys of the model.
const ModelKey& key_named(const Model& model, std::string_view name);
/// The value of such a key in force. Throws std::bad_variant_access where the model, made in code,
/// holds another type.
double own_number(const ModelKey& key, const Model& model);
std::int64_t own_integer(const ModelKey& key, const Model& model);
/// Nothing where the word of the key's range stands in place of a number.
std::optional<double> own_optional_number(const ModelKey& key, const Model& model);

/// The keys that every model has, in the order in which JSON has them.
std::span<const ModelKey> common_keys();
/// The keys that `model` has, with those of its own gate, in that order.
std::vector<const ModelKey*> keys_of(const Model& model);

/// "an integer from 1 to 8", "a number above 0 or \"dropless\"", "one of \"adam\", \"sgd\"".
std::string range_text(const KeyRange& range);
/// As a model file says it: "0.5", "true", "\"learned\"".
std::string value_text(const KeyValue& value);

}  // namespace moe
