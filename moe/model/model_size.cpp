#include "moe/model/model_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "moe/model/capacity.h"
#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/latent_keys.h"
#include "moe/model/limits.h"
#include "moe/model/orders/orders.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

/// The elements that one MoE layer adds for the whole batch.
struct Routed {
  double rows = 0;   ///< token copies
  double masks = 0;  ///< elements of dispatch and combine mask
  GateSize gate;
};

/// What one layer of attention has between its norm and its output.
struct Attended {
  double parameters = 0;
  double columns = 0;  ///< of activations of a token
};

Attended attended(const Model& model) {
  const auto m = static_cast<double>(model.d_model),
             of_head = static_cast<double>(head_width(model)),
             of_value = static_cast<double>(value_width(model));
  const double heads = model.heads, key_heads = key_value_heads(model);
  const double queries = of_head * heads, keys = of_head * key_heads, values = of_value * key_heads,
               output = of_value * heads, qkv = queries + keys + values;
  const double normed = model.query_key_norm == QueryKeyNorms::none ? 0 : qkv;
  const LatentAttention latent = latent_attention(model);
  const double columns = qkv + output + normed + heads;
  if (latent.rank == 0) return {m * (qkv + output), columns};
  const auto rank = static_cast<double>(latent.rank),
             query_rank = static_cast<double>(latent.query_rank),
             turned = static_cast<double>(rotary_angles(model).columns);
  const double made = keys - turned * key_heads + values;  // from the latent
  return {m * (rank + turned + query_rank + output) + rank * made +
              (query_rank > 0 ? query_rank : m) * queries,
          columns + 2 * (rank + query_rank) + turned + queries + made};
}

Routed routed(const Model& model, std::int64_t parts) {
  const Gate& gate = gate_named(model.gate);
  const Chooser chooser = gate.facts.chooser;
  const std::int64_t groups = model.capacity_groups > 0 ? model.capacity_groups : parts;
  const auto tokens = static_cast<double>(model.global_batch * model.sequence_length);
  const double experts = model.experts;
  const auto gate_size = [&](double logits) {
    return gate.size != nullptr ? gate.size(model)
                                : GateSize{static_cast<double>(model.d_model) * logits, logits};
  };
  Routed all{tokens * (chooser == Chooser::token ? model.choices : experts), 0, gate_size(experts)};
  if (model.capacity_factor) {
    const auto group_tokens = static_cast<std::int64_t>(tokens) / std::max<std::int64_t>(groups, 1);
    const auto capacity = static_cast<double>(
        expert_capacity(model.choices, *model.capacity_factor,
                        std::max<std::int64_t>(group_tokens, 1), model.experts));
    const double slots = capacity * static_cast<double>(groups) * experts;
    const bool full = chooser == Chooser::nobody || model.exchange == ExchangedRows::padded;
    all.rows = full ? slots : std::min(all.rows, slots);
    if (chooser == Chooser::nobody) all.gate = gate_size(capacity * experts);
  }
  if (order_named(model.order).slots == Slots::mixtures) {
    const auto seen = static_cast<double>(chooser == Chooser::nobody ? groups : parts);
    all.masks = 2 * all.rows * tokens / seen;
  }
  return all;
}

}  // namespace

ModelSize model_size(const Model& model, std::int64_t parts) {
  const auto m = static_cast<double>(model.d_model), v = static_cast<double>(model.vocabulary);
  const auto length = static_cast<double>(model.sequence_length);
  const Attended attention = attended(model);
  const double products = expert_named(model.expert).facts.products;
  const double dense_hidden = products * static_cast<double>(model.d_hidden);
  const double hidden = products * static_cast<double>(expert_hidden(model));
  const double mixtures = blocks_with_experts(model), dense = model.blocks - mixtures;
  const double experts = model.experts, shared = model.shared_experts;
  const Routed layer = routed(model, parts);

  ModelSize size;
  size.parameters = v * m * (model.head == Head::tied ? 1 : 2) +
                    (model.positions == Positions::learned ? length * m : 0) +
                    model.blocks * attention.parameters + dense * m * dense_hidden +
                    mixtures * (layer.gate.parameters + m * (experts + shared) * hidden +
                                (model.shared_expert_gate ? m : 0));
  // A token's row: logits; norms, residuals and attention; what networks keep; scores of experts.
  // For every copy of a token, what its expert keeps.
  const double row = v + model.blocks * (4 * m + attention.columns) +
                     dense * (2 * m + dense_hidden) +
                     mixtures * (shared * hidden + layer.gate.activations_per_token);
  size.masks = mixtures * layer.masks;
  size.activations = static_cast<double>(model.global_batch) * length * row +
                     mixtures * layer.rows * (2 * m + hidden) + size.masks;
  return size;
}

std::optional<std::string> size_refusal(const Model& model, std::int64_t parts) {
  const ModelSize size = model_size(model, parts);
  if (size.parameters > kMostParameters) {
    return fmt::format(
        "{:.2g} parameters are more than {:.0e}: lower experts, d_model, d_hidden, blocks or "
        "vocabulary",
        size.parameters, kMostParameters);
  }
  if (size.activations > kMostActivations) {
    const bool by_masks = size.masks > size.activations / 2;
    return fmt::format(
        "{:.2g} elements of activations in an iteration{} are more than {:.0e}: lower {}",
        size.activations,
        by_masks ? fmt::format(", {:.2g} of them of masks of token x slot,", size.masks) : "",
        kMostActivations,
        by_masks ? "global_batch, sequence_length, choices or capacity_factor"
                 : "global_batch, sequence_length, blocks, d_model, d_hidden, experts or "
                   "vocabulary");
  }
  return std::nullopt;
}

std::optional<std::string> passes_refusal(const Model& model) {
  const std::int64_t passes = std::int64_t{model.blocks} * model.micro_batches;
  if (passes <= kMostPasses) return std::nullopt;
  std::int64_t fewer = kMostPasses / model.blocks;
  while (model.global_batch % fewer != 0 || model.capacity_groups % fewer != 0) --fewer;
  return fmt::format(
      "{} micro_batches of {} blocks are {} passes through a block, each with ops of its own: "
      "expected at most {}, so micro_batches = {} or fewer blocks",
      model.micro_batches, model.blocks, passes, kMostPasses, fewer);
}

}  // namespace moe
