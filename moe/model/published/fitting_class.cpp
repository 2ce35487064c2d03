#include "moe/model/published/fitting_class.h"

#include <fmt/format.h>

#include <cmath>

#include "moe/errors.h"
#include "moe/model/attention_keys.h"
#include "moe/model/capacity_groups.h"
#include "moe/model/model_json.h"
#include "moe/model/published/config_text.h"
#include "moe/model/published/read_config.h"
#include "moe/model/published/tensor_names.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

/// The same function by the keys that classes have.
Model in_usual_words(Model model) {
  if (model.gate == "batch_prioritized" && !model.capacity_factor) model.gate = "softmax";
  if (!routes_by_groups(model)) model.capacity_groups = 0;
  return model;
}

bool has_same_blocks(const Model& a, const Model& b) {
  for (int block = 0; block < a.blocks; ++block) {
    if (has_experts(a, block) != has_experts(b, block)) return false;
  }
  return true;
}

bool turns_alike(const Model& a, const Model& b) {
  for (int block = 0; block < a.blocks; ++block) {
    if (turns(a, block) != turns(b, block)) return false;
  }
  return true;
}

bool is_of_blocks(std::string_view key) {
  return key == "dense_blocks" || key == "moe_every" || key == "block_pattern";
}

/// True of numbers that were written in another way, and read again.
bool is_rounded(const Model& a, const Model& b) {
  constexpr double kRounding = 1e-12;
  const double first = attention_scale(a), second = attention_scale(b);
  return first > 0 && std::abs(first - second) <= kRounding * first;
}

/// Keys that differ where nothing does, or where weights make up for it.
bool is_alike(const KeyDifference& difference, const Model& model, const ConfiguredModel& back) {
  if (difference.kind == KeyKind::training || difference.table == "training") return true;
  if (difference.key == "d_hidden") return blocks_with_experts(model) == model.blocks;
  if (is_of_blocks(difference.key)) {
    return has_same_blocks(model, back.model);
  }
  if (difference.key == "rotary_pattern") return turns_alike(model, back.model);
  if (difference.key == "attention_scale") return is_rounded(model, back.model);
  // The bias of attention's output must be zero: counterparts().
  if (difference.key == "attention_biases") {
    return difference.first == "\"all\"" && difference.second == "\"qkv\"";
  }
  // A gate of zeros is a half, and the last matrix is written twice as large.
  return difference.key == "shared_expert_gate" && !model.shared_expert_gate &&
         back.of->tensors != nullptr && !back.of->tensors->shared_gate.empty();
}

}  // namespace

std::optional<UnmatchedKey> unmatched_key(const Model& model, const PublishedClass& of) {
  const Model usual = in_usual_words(model);
  std::optional<ConfiguredModel> back;
  try {
    back = read_config_text(config_text(usual, of), "config.json", usual);
  } catch (const InputError& error) {
    return UnmatchedKey{error.what(), "what the class has"};
  }
  for (const KeyDifference& difference : differing_keys(usual, back->model)) {
    if (is_alike(difference, usual, *back)) continue;
    const bool is_hook = difference.table == "moe.hooks";
    return UnmatchedKey{fmt::format("{} = {}", difference.key, difference.first),
                        is_hook ? "no such hook" : difference.second};
  }
  return std::nullopt;
}

const PublishedClass& fitting_class(const Model& model, const PublishedClass* asked) {
  std::string reasons;
  for (const PublishedClass& of : published_classes()) {
    if (of.tensors == nullptr || (asked != nullptr && asked != &of)) continue;
    const auto unmatched = unmatched_key(model, of);
    if (!unmatched) return of;
    reasons += fmt::format("{}{} has no {} (expected {})", reasons.empty() ? "" : "; ", of.name,
                           unmatched->key, unmatched->expected);
  }
  throw Refusal(fmt::format("model {}", model.name), reasons, "");
}

}  // namespace moe
