#include "moe/model/layers/mixture_of_experts.h"

#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"

namespace moe {

Layer mixture_of_experts(LayerBuilder& build, TensorId x) {
  const std::int64_t width = build.model.d_model;
  const int choices = build.model.choices;
  const GateOutput gate = gate_named(build.model.gate).build(build, x);

  const TensorId sent = build.routed("sent", Rows::sent, width);
  build.op(Permute{choices}, "permute", {x, gate.expert, gate.slot, gate.offsets}, {sent});
  const TensorId received = build.routed("received", Rows::received, width);
  build.op(AllToAll{Direction::dispatch, GroupKind::expert}, "all_to_all dispatch", {sent},
           {received});
  const ExpertNetwork experts = expert_named(build.model.expert).build(build, received);
  const TensorId returned = build.routed("returned", Rows::sent, width);
  build.op(AllToAll{Direction::combine, GroupKind::expert}, "all_to_all combine", {experts.output},
           {returned});
  const TensorId y = build.activation("combined", width);
  build.op(Combine{choices}, "combine",
           {returned, gate.expert, gate.weight, gate.slot, gate.offsets}, {y});

  const auto backward = [=, &build](TensorId dy) {
    const TensorId d_weight = build.activation("d_gate_weight", choices);
    build.op(CombineWeightGradient{choices}, "combine weight gradient",
             {dy, returned, gate.expert, gate.slot, gate.offsets}, {d_weight});
    const TensorId d_returned = build.routed("d_returned", Rows::sent, width);
    build.op(CombineInputGradient{choices}, "combine gradient",
             {dy, gate.expert, gate.weight, gate.slot, gate.offsets}, {d_returned});
    const TensorId d_produced = build.routed("d_produced", Rows::received, width);
    build.op(AllToAll{Direction::dispatch, GroupKind::expert}, "all_to_all gradient dispatch",
             {d_returned}, {d_produced});
    // Input gradients first, so that their way home does not wait for the weight gradients.
    const ExpertGradients gradients = experts.backward(d_produced);
    const TensorId d_sent = build.routed("d_sent", Rows::sent, width);
    build.op(AllToAll{Direction::combine, GroupKind::expert}, "all_to_all gradient combine",
             {gradients.input}, {d_sent});
    gradients.weights();
    const TensorId d_permuted = build.activation("d_permuted", width);
    build.op(PermuteGradient{choices}, "permute gradient",
             {d_sent, gate.expert, gate.slot, gate.offsets}, {d_permuted});
    const TensorId d_gate = gate.backward(d_weight);
    const TensorId dx = build.activation("d_input.experts", width);
    build.op(Add{}, "gate input gradient", {d_permuted, d_gate}, {dx});
    return dx;
  };
  return {y, backward};
}

}  // namespace moe
