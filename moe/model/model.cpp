#include "moe/model/model.h"

#include <fmt/format.h>

#include "moe/errors.h"
#include "moe/model/block_pattern.h"
#include "moe/model/layout_way_out.h"

namespace moe {

int key_value_heads(const Model& model) { return model.key_value_heads.value_or(model.heads); }

bool normalizes_weights(const Model& model) {
  return model.normalize_weights.value_or(model.choices > 1);
}

int best_groups(const Model& model) { return model.best_groups.value_or(model.expert_groups); }

int group_experts_counted(const Model& model) {
  return model.group_experts_counted.value_or(model.gate == "bias_adjusted" ? 2 : 1);
}

std::int64_t head_width(const Model& model) {
  return model.head_width.value_or(model.d_model / model.heads);
}

std::int64_t expert_hidden(const Model& model) { return model.d_expert.value_or(model.d_hidden); }

double weight_decay(const Model& model) {
  return model.weight_decay.value_or(model.optimizer == Optimizer::adamw ? 0.1 : 0);
}

bool falls_to_an_end(const Model& model) {
  return model.learning_rate_schedule == RateSchedule::linear ||
         model.learning_rate_schedule == RateSchedule::cosine;
}

bool has_experts(const Model& model, int block) {
  if (const std::string_view pattern = block_pattern(model); pattern != kByPeriod) {
    return pattern[static_cast<std::size_t>(block) % pattern.size()] == 'e';
  }
  return model.moe_every > 0 && block >= model.dense_blocks &&
         (block - model.dense_blocks + 1) % model.moe_every == 0;
}

int blocks_with_experts(const Model& model) {
  int count = 0;
  for (int block = 0; block < model.blocks; ++block) count += has_experts(model, block) ? 1 : 0;
  return count;
}

void check(const Model& model, const Groups& groups) {
  const auto refusal = layout_refusal(model, groups.layout);
  if (!refusal) return;
  const std::string instead = layout_way_out(model, groups.layout, *refusal);
  throw Refusal(fmt::format("model {}", model.name), refusal->message,
                instead.empty() ? "" : "expected " + instead);
}

}  // namespace moe
