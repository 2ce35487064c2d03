#include "moe/model/layers/mixture_of_experts.h"

#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"

namespace moe {
namespace {

/// The rows that the experts of this rank work on: those of all ranks that share them.
TensorId gather_shared(LayerBuilder& build, TensorId received, const std::string& name) {
  if (build.sharing_ranks() == 1) return received;
  const TensorId gathered = build.routed(name, Rows::gathered, build.model.d_model);
  build.op(GatherRows{}, "gather " + name, {received}, {gathered});
  return gathered;
}

/// This rank's received rows of what the ranks that share its experts have produced together.
TensorId sum_shared(LayerBuilder& build, TensorId partial, const std::string& name) {
  if (build.sharing_ranks() == 1) return partial;
  const std::int64_t width = build.model.d_model;
  const TensorId shares =
      build.routed(name + ".shares", Rows::received, build.sharing_ranks() * width);
  build.op(ScatterRows{}, "scatter " + name, {partial}, {shares});
  const TensorId sum = build.routed(name, Rows::received, width);
  build.op(SumShares{}, "sum " + name, {shares}, {sum});
  return sum;
}

}  // namespace

Layer mixture_of_experts(LayerBuilder& build, TensorId x) {
  const std::int64_t width = build.model.d_model;
  const int choices = build.model.choices;
  const GateOutput gate = gate_named(build.model.gate).build(build, x);

  const TensorId sent = build.routed("sent", Rows::sent, width);
  build.op(Permute{choices}, "permute", {x, gate.expert, gate.slot, gate.offsets}, {sent});
  const TensorId received = build.routed("received", Rows::received, width);
  build.op(AllToAll{Direction::dispatch, GroupKind::expert}, "all_to_all dispatch", {sent},
           {received});
  const ExpertNetwork experts =
      expert_named(build.model.expert).build(build, gather_shared(build, received, "gathered"));
  const TensorId produced = sum_shared(build, experts.output, "summed");
  const TensorId returned = build.routed("returned", Rows::sent, width);
  build.op(AllToAll{Direction::combine, GroupKind::expert}, "all_to_all combine", {produced},
           {returned});
  const TensorId y = build.activation("combined", width);
  build.op(Combine{choices}, "combine",
           {returned, gate.expert, gate.weight, gate.slot, gate.offsets}, {y});

  const auto backward = [=, &build](TensorId dy) {
    TensorId d_weight = -1;
    if (gate.backward) {
      d_weight = build.activation("d_gate_weight", choices);
      build.op(CombineWeightGradient{choices}, "combine weight gradient",
               {dy, returned, gate.expert, gate.slot, gate.offsets}, {d_weight});
    }
    const TensorId d_returned = build.routed("d_returned", Rows::sent, width);
    build.op(CombineInputGradient{choices}, "combine gradient",
             {dy, gate.expert, gate.weight, gate.slot, gate.offsets}, {d_returned});
    const TensorId d_produced = build.routed("d_produced", Rows::received, width);
    build.op(AllToAll{Direction::dispatch, GroupKind::expert}, "all_to_all gradient dispatch",
             {d_returned}, {d_produced});
    // Input gradients first, so that their way home does not wait for the weight gradients.
    const ExpertGradients gradients =
        experts.backward(gather_shared(build, d_produced, "d_gathered"));
    const TensorId d_received = sum_shared(build, gradients.input, "d_summed");
    const TensorId d_sent = build.routed("d_sent", Rows::sent, width);
    build.op(AllToAll{Direction::combine, GroupKind::expert}, "all_to_all gradient combine",
             {d_received}, {d_sent});
    gradients.weights();
    const TensorId d_permuted = build.activation("d_permuted", width);
    build.op(PermuteGradient{choices}, "permute gradient",
             {d_sent, gate.expert, gate.slot, gate.offsets}, {d_permuted});
    if (!gate.backward) return d_permuted;
    const TensorId d_gate = gate.backward(d_weight);
    const TensorId dx = build.activation("d_input.experts", width);
    build.op(Add{}, "gate input gradient", {d_permuted, d_gate}, {dx});
    return dx;
  };
  return {y, backward};
}

}  // namespace moe
