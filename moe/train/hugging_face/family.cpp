#include "moe/train/hugging_face/family.h"

#include <fmt/format.h>

#include <vector>

#include "moe/errors.h"
#include "moe/model/attention_biases.h"
#include "moe/model/attention_keys.h"
#include "moe/model/latent_keys.h"
#include "moe/model/model_key.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

constexpr std::array<std::string_view, kFamilyNames.size()> kArchitectures{
    "MixtralForCausalLM", "Qwen2MoeForCausalLM", "Glm4MoeForCausalLM"};

/// `KEY = VALUE` of the model.
std::string shown(const Model& model, std::string_view name) {
  for (const ModelKey* key : keys_of(model)) {
    if (key->name == name) return fmt::format("{} = {}", name, value_text(key->get(*key, model)));
  }
  return std::string(name);
}

struct Need {
  bool is_met;
  std::string_view key, expected;
};

Need gate_needed(const Model& model, Family family) {
  if (family == Family::glm4_moe) {
    return {model.gate == "bias_adjusted", "gate", "\"bias_adjusted\""};
  }
  // Without a capacity batch_prioritized computes what softmax does.
  return {model.gate == "softmax" || model.gate == "batch_prioritized", "gate", "\"softmax\""};
}

/// All families have these.
std::vector<Need> common_needs(const Model& model, Family family) {
  const RotaryAngles angles = rotary_angles(model);
  return {{model.norm == Norm::rms_norm, "norm", "\"rms_norm\""},
          {model.positions == Positions::rotary, "positions", "\"rotary\""},
          {model.moe_every > 0, "moe_every", "1 or more"},
          {model.expert == "mixtral", "expert", "\"mixtral\""},
          gate_needed(model, family),
          {head_width(model) * model.heads == model.d_model, "head_width", "d_model / heads"},
          {model.query_key_norm == QueryKeyNorms::none, "query_key_norm", "\"none\""},
          {angles.columns == head_width(model), "rotary_columns", "head_width"},
          {angles.scaling == AngleScaling::none, "rotary_scaling", "\"none\""},
          {attention_window(model, 0) == 0 && attention_window(model, 1) == 0, "window", "0"},
          {!has_attention_sinks(model), "attention_sinks", "false"},
          {attention_scale(model) == 0, "attention_scale", "\"head_width\""},
          {value_width(model) == head_width(model), "value_width", "head_width"},
          {latent_attention(model).rank == 0, "latent_rank", "0"},
          {best_groups(model) == model.expert_groups, "best_groups", "expert_groups"},
          {!model.gate_bias, "gate_bias", "false"},
          {normalizes_weights(model) == (model.choices > 1), "normalize_weights", "choices > 1"},
          {model.weight_factor == 1, "weight_factor", "1"},
          {!model.shared_expert_gate, "shared_expert_gate", "false"},
          {!model.capacity_factor, "capacity_factor", "\"dropless\""}};
}

std::vector<Need> own_needs(const Model& model, Family family) {
  if (family == Family::qwen2_moe) return {};
  if (family == Family::glm4_moe) {  // whose router looks for the two best of a group
    return {{blocks_with_experts(model) == model.blocks - model.dense_blocks, "moe_every", "1"},
            {model.experts > 1, "experts", "2 or more"}};
  }
  const bool only_experts = blocks_with_experts(model) == model.blocks;
  // The weight of an only expert is 1 there, and its probability here.
  return {{!attention_biases(model).qkv, "attention_biases", "\"none\""},
          {only_experts || model.dense_blocks > 0, "moe_every", "1"},
          {only_experts, "dense_blocks", "0"},
          {model.choices > 1, "choices", "2 or more"},
          {model.shared_experts == 0, "shared_experts", "0"}};
}

}  // namespace

std::string_view name_of(Family family) { return kFamilyNames[static_cast<std::size_t>(family)]; }

std::string_view architecture_of(Family family) {
  return kArchitectures[static_cast<std::size_t>(family)];
}

std::optional<UnmatchedKey> unmatched_key(const Model& model, Family family) {
  std::vector<Need> needs = common_needs(model, family);
  for (const Need& need : own_needs(model, family)) needs.push_back(need);
  for (const Need& need : needs) {
    if (!need.is_met) return UnmatchedKey{shown(model, need.key), std::string(need.expected)};
  }
  for (const auto& [place, hook] : model.hooks) {
    if (hook.empty() || hook == "jitter") continue;  // which held-out losses do without
    return UnmatchedKey{fmt::format("hooks.{} = \"{}\"", place, hook), "no such hook"};
  }
  return std::nullopt;
}

Family fitting_family(const Model& model, std::optional<Family> asked) {
  std::string reasons;
  for (std::size_t i = 0; i < kFamilyNames.size(); ++i) {
    const auto family = static_cast<Family>(i);
    if (asked && *asked != family) continue;
    const auto unmatched = unmatched_key(model, family);
    if (!unmatched) return family;
    reasons += fmt::format("{}{} has no {} (expected {})", reasons.empty() ? "" : "; ",
                           name_of(family), unmatched->key, unmatched->expected);
  }
  throw Refusal(fmt::format("model {}", model.name), reasons, "");
}

}  // namespace moe
