#include "moe/model/orders/orders.h"

namespace moe {

OrderedRows sparse_order(LayerBuilder& build, const GateOutput& gate, TensorId x) {
  const std::int64_t width = build.model.d_model;
  const int choices = copies_of_token(build, gate);
  const TensorId sent = build.routed("sent", Rows::sent, width);
  build.op(Permute{choices}, "permute", {x, gate.expert, gate.slot, gate.offsets}, {sent});
  clear_padding(build, gate, sent);

  const auto backward = [=, &build](TensorId d_sent) -> OrderGradients {
    const TensorId d_permuted = build.activation("d_permuted", width);
    build.op(PermuteGradient{choices}, "permute gradient",
             {d_sent, gate.expert, gate.slot, gate.offsets}, {d_permuted});
    return {.input = d_permuted};
  };
  return {sent, backward};
}

RestoredTokens sparse_restore(LayerBuilder& build, const GateOutput& gate, TensorId returned) {
  const std::int64_t width = build.model.d_model;
  const int choices = copies_of_token(build, gate);
  const TensorId y = build.activation("combined", width);
  build.op(Combine{choices}, "combine",
           {returned, gate.expert, gate.weight, gate.slot, gate.offsets}, {y});

  const auto backward = [=, &build](TensorId dy) -> RestoreGradients {
    TensorId d_weight = -1;
    if (gate.backward) {
      d_weight = build.wide("d_gate_weight", choices);
      build.op(CombineWeightGradient{choices}, "combine weight gradient",
               {dy, returned, gate.expert, gate.slot, gate.offsets}, {d_weight});
    }
    const TensorId d_returned = build.routed("d_returned", Rows::sent, width);
    build.op(CombineInputGradient{choices}, "combine gradient",
             {dy, gate.expert, gate.weight, gate.slot, gate.offsets}, {d_returned});
    clear_padding(build, gate, d_returned);
    return {d_returned, d_weight};
  };
  return {y, backward};
}

}  // namespace moe
