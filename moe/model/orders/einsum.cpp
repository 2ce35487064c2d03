#include "moe/model/orders/orders.h"

namespace moe {
namespace {

/// Blocks of the masks of this gate, see ops/einsum.h.
struct MaskBlocks {
  int groups = 1;
  std::int64_t slots = 0;
};
MaskBlocks blocks_of(const GateOutput& gate) {
  return gate.mixed ? MaskBlocks{gate.mixed->groups, gate.mixed->slots} : MaskBlocks{};
}

}  // namespace

/// sent = mask x; dx = mask^T d_sent. Where a gate chooses experts, each row of the mask has a
/// single 1, so that the rows are those of the sparse order, bit for bit.
OrderedRows einsum_order(LayerBuilder& build, const GateOutput& gate, TensorId x) {
  const std::int64_t width = build.model.d_model;
  const auto [groups, slots] = blocks_of(gate);
  TensorId mask = -1;
  if (gate.mixed) {
    mask = gate.mixed->dispatch;
  } else {
    mask = build.routed("dispatch_mask", Rows::sent, build.tokens);
    build.op(DispatchMask{copies_of_token(build, gate)}, "dispatch mask",
             {gate.expert, gate.slot, gate.offsets}, {mask});
    clear_padding(build, gate, mask);
  }
  const TensorId sent = build.routed("sent", Rows::sent, width);
  build.op(EinsumRows{groups, slots}, "order einsum", {mask, x}, {sent});

  const auto backward = [=, &build, mixed = gate.mixed.has_value(), groups = groups,
                         slots = slots](TensorId d_sent) {
    OrderGradients gradients;
    gradients.input = build.activation("d_permuted", width);
    build.op(EinsumTokens{groups, slots}, "order einsum dX", {mask, d_sent}, {gradients.input});
    if (mixed) {
      gradients.dispatch = build.like("d_dispatch_mask", mask);
      build.op(EinsumMask{groups, slots}, "order einsum dM", {d_sent, x}, {gradients.dispatch});
    }
    return gradients;
  };
  return {sent, backward};
}

/// y = mask^T returned with the weights in the mask; d_returned = mask dy, d_mask = returned dy^T.
RestoredTokens einsum_restore(LayerBuilder& build, const GateOutput& gate, TensorId returned) {
  const std::int64_t width = build.model.d_model;
  const auto [groups, slots] = blocks_of(gate);
  const int choices = gate.mixed ? 0 : copies_of_token(build, gate);
  TensorId mask = -1;
  if (gate.mixed) {
    mask = gate.mixed->combine;
  } else {
    mask = build.routed("combine_mask", Rows::sent, build.tokens);
    build.op(DispatchMask{choices}, "combine mask",
             {gate.expert, gate.slot, gate.offsets, gate.weight}, {mask});
    clear_padding(build, gate, mask);
  }
  const TensorId y = build.activation("combined", width);
  build.op(EinsumTokens{groups, slots}, "combine einsum", {mask, returned}, {y});

  const auto backward = [=, &build, groups = groups, slots = slots](TensorId dy) {
    RestoreGradients gradients;
    if (gate.mixed || gate.backward) {
      gradients.weight = build.like("d_combine_mask", mask);
      build.op(EinsumMask{groups, slots}, "combine einsum dM", {returned, dy}, {gradients.weight});
    }
    if (gate.backward) {
      const TensorId d_mask = gradients.weight;
      gradients.weight = build.wide("d_gate_weight", choices);
      build.op(DispatchMaskGradient{choices}, "combine mask gradient",
               {d_mask, gate.expert, gate.slot, gate.offsets}, {gradients.weight});
    }
    gradients.returned = build.routed("d_returned", Rows::sent, width);
    build.op(EinsumRows{groups, slots}, "combine einsum dX", {mask, dy}, {gradients.returned});
    return gradients;
  };
  return {y, backward};
}

}  // namespace moe
