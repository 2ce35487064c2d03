#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/model/published/published_class.h"

namespace moe {

inline constexpr const char* kConfigFile = "config.json";

/// True of a file that ends in ".json", and of a folder with a config.json: a model by
/// transformers.
bool is_config(const std::filesystem::path& path);

/// A model as a config.json describes it.
struct ConfiguredModel {
  Model model;
  const PublishedClass* of = nullptr;
  std::vector<std::string> read{};        ///< keys that were read
  std::vector<std::string> left_aside{};  ///< keys that change nothing of what is computed
  std::vector<std::string> remarks{};     ///< what else is not as the file says it
  /// In a class whose parameters have columns that turn together as neighbours: these have them in
  /// two halves, as here.
  bool turns_halves = false;
  /// Layers after the model's that predict further tokens. transformers loads none.
  std::int64_t further_layers = 0;
};

/// Reads a config.json, or that in a folder. Sequence length, batch, precision and optimizer are
/// those of `base`, and default_training() without one. Throws InputError with file and line for a
/// class that is not in published_classes(), for a key whose value has no counterpart here, and for
/// one that nothing reads and that may change what is computed.
ConfiguredModel read_config(const std::filesystem::path& path,
                            const std::optional<Model>& base = std::nullopt);
/// The same of a text, which `name` calls.
ConfiguredModel read_config_text(std::string_view text, const std::string& name,
                                 const std::optional<Model>& base);

/// What is said of a config.json: the keys that were read, those that are left aside, remarks.
std::vector<std::string> said_of(const ConfiguredModel& configured);

/// "sequence_length = 4096, global_batch = ...": what no config.json says.
std::string training_text(const Model& model);
/// The same as a message of programs whose --model is `path`; "" where that is no config.json.
std::string assumed_training(const std::filesystem::path& path, const Model& model);

}  // namespace moe
