#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "moe/model/model.h"

/// Which models the library transformers has too, and what it calls them.
namespace moe {

/// A model class of the library transformers, by its `model_type`.
/// GLM-4-MoE has the mixture of experts of DeepSeek-V3, and its names.
enum class Family : std::uint8_t { mixtral, qwen2_moe, glm4_moe };
inline constexpr std::array<std::string_view, 3> kFamilyNames{"mixtral", "qwen2_moe", "glm4_moe"};
std::string_view name_of(Family family);
/// The class of Python: "MixtralForCausalLM".
std::string_view architecture_of(Family family);

/// A key of a model without a counterpart in a family, as an error names it.
struct UnmatchedKey {
  std::string key;       ///< "gate = \"sigmoid\""
  std::string expected;  ///< "\"softmax\""
};

/// The first key for which the class would compute something else; none where it computes the same.
/// Keys of the training, its losses and its draws are not looked at.
std::optional<UnmatchedKey> unmatched_key(const Model& model, Family family);

/// The family to write a model as: `asked`, or the first that fits where none is asked for. Throws
/// Refusal with the keys that do not fit.
Family fitting_family(const Model& model, std::optional<Family> asked);

}  // namespace moe
