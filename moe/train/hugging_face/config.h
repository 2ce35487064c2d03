#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "moe/train/hugging_face/family.h"

namespace moe {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kTensorsFile = "model.safetensors";

/// The text of config.json for a model that fits the family.
std::string config_text(const Model& model, Family family);

/// A model as a config.json describes it.
struct ConfiguredModel {
  Model model;
  Family family = Family::mixtral;
  std::vector<std::string> left_aside;  ///< keys that change nothing of what is computed
};

/// Reads config.json in `folder`. What it does not say, such as the batch and the optimizer, is
/// that of `base`. Throws InputError with the file and the line for a class that is not in
/// kFamilyNames, for a key whose value has no counterpart here, for a key that nothing reads and that
/// may change what is computed, and where `base` chooses what the
/// class does not have.
ConfiguredModel read_config(const std::filesystem::path& folder, Model base);

}  // namespace moe
