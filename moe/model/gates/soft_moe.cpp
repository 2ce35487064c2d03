#include "moe/model/gates/gates.h"
#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

/// Every expert has c = k f n / E slots in a capacity group of n tokens, f the capacity factor. Of
/// logits x W, W[M,E*c], the softmax over tokens gives the mixture of tokens in a slot, the softmax
/// over all slots the mixture of results for a token.  [Puigcerver et al. 2023, Eq. 1 and 2;
/// without the normalisation of x and W that its section 2.3 adds for wide models] Nothing is
/// dropped and every expert gets as many rows as any other.
GateOutput build_soft_moe(LayerBuilder& build, TensorId x) {
  const int experts = build.model.experts;
  MixedSlots mixed;
  mixed.slots = build.capacity().value();
  mixed.groups = build.capacity_groups_of_rank();
  const std::int64_t slots = experts * mixed.slots;
  const std::int64_t rows = slots * mixed.groups, group_tokens = build.tokens / mixed.groups;
  const Layer logits = gate_logits(build, x, "gate", slots);
  mixed.dispatch = build.activation("dispatch_mask", rows, group_tokens);
  mixed.combine = build.activation("combine_mask", rows, group_tokens);
  const TensorId offsets = build.integers("offsets", 1, experts + 1);
  const TensorId demand = build.integers("demand", 1, experts);
  build.op(SoftSlots{experts, mixed.slots, mixed.groups}, "gate", {logits.output},
           {mixed.dispatch, mixed.combine, offsets, demand});
  exchange_counts(build, offsets, demand);

  const SoftSlotsGradient gradient{experts, mixed.slots, mixed.groups};
  const TensorId dispatch = mixed.dispatch, combine = mixed.combine;
  mixed.backward = [=, &build](TensorId d_dispatch, TensorId d_combine) {
    const TensorId d_logits = build.wide("d_gate_logits", slots);
    build.op(gradient, "gate gradient", {d_dispatch, d_combine, dispatch, combine}, {d_logits});
    return logits.backward(d_logits);
  };
  GateOutput gate;
  gate.offsets = offsets;
  gate.mixed = mixed;
  return gate;
}

}  // namespace

Gate soft_moe_gate() {
  return {.description = "slots mix all tokens, tokens mix what all slots return (Soft MoE)",
          .facts = {.scores_tokens = false, .balances = false, .chooser = Chooser::nobody},
          .build = build_soft_moe};
}

}  // namespace moe
