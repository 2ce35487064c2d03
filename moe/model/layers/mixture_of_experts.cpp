#include "moe/model/layers/mixture_of_experts.h"

#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/hooks/hooks.h"
#include "moe/model/orders/orders.h"

namespace moe {
namespace {

/// The rows that the experts of this rank compute with: those of all ranks that share the experts.
TensorId gather_shared(LayerBuilder& build, TensorId received, const std::string& name) {
  if (build.sharing_ranks() == 1) return received;
  const TensorId gathered = build.routed(name, Rows::gathered, build.model.d_model);
  build.op(GatherRows{}, "gather " + name, {received}, {gathered});
  return gathered;
}

/// This rank's received rows, summed over the results of the ranks that share its experts.
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

/// Rows brought to the ranks of their experts, or back.
TensorId exchange_rows(LayerBuilder& build, Direction direction, TensorId rows,
                       const std::string& name, const std::string& op_name) {
  const Rows arrive_as = direction == Direction::dispatch ? Rows::received : Rows::sent;
  const TensorId arrived = build.routed(name, arrive_as, build.model.d_model);
  build.op(AllToAll{direction, GroupKind::expert}, op_name, {rows}, {arrived});
  return arrived;
}

}  // namespace

Layer mixture_of_experts(LayerBuilder& build, TensorId x) {
  const Layer start = hooked(build, HookPlace::before_moe_start, x);
  const GateOutput gate = gate_named(build.model.gate).build(build, start.output);
  const Order& order = order_named(build.model.order);
  const OrderedRows ordered = order.order(build, gate, start.output);
  const Layer leaving = hooked(build, HookPlace::before_dispatch, ordered.sent);
  const TensorId received =
      exchange_rows(build, Direction::dispatch, leaving.output, "received", "all_to_all dispatch");
  const Layer arrived = hooked(build, HookPlace::after_dispatch, received);
  const ExpertNetwork experts = expert_named(build.model.expert)
                                    .build(build, gather_shared(build, arrived.output, "gathered"));
  const Layer produced =
      hooked(build, HookPlace::before_combine, sum_shared(build, experts.output, "summed"));
  const TensorId returned =
      exchange_rows(build, Direction::combine, produced.output, "returned", "all_to_all combine");
  const Layer home = hooked(build, HookPlace::after_combine, returned);
  const RestoredTokens restored = order.restore(build, gate, home.output);
  const Layer end = hooked(build, HookPlace::before_moe_end, restored.output);

  const auto backward = [=, &build](TensorId dy) {
    const RestoreGradients outer = restored.backward(end.backward(dy));
    const TensorId d_produced =
        exchange_rows(build, Direction::dispatch, home.backward(outer.returned), "d_produced",
                      "all_to_all gradient dispatch");
    // Input gradients come first, so that they can travel back before the weight gradients are
    // computed.
    const ExpertGradients gradients =
        experts.backward(gather_shared(build, produced.backward(d_produced), "d_gathered"));
    const bool before = build.model.weight_gradients == WeightGradientTime::before_return;
    if (before) gradients.weights();
    const TensorId d_received = arrived.backward(sum_shared(build, gradients.input, "d_summed"));
    const TensorId d_sent = exchange_rows(build, Direction::combine, d_received, "d_sent",
                                          "all_to_all gradient combine");
    if (!before) gradients.weights();
    const OrderGradients inner = ordered.backward(leaving.backward(d_sent));
    if (!gate.mixed && !gate.backward) return start.backward(inner.input);
    const TensorId d_gate = gate.mixed ? gate.mixed->backward(inner.dispatch, outer.weight)
                                       : gate.backward(outer.weight);
    const TensorId dx = build.activation("d_input.experts", build.model.d_model);
    build.op(Add{}, "gate input gradient", {inner.input, d_gate}, {dx});
    return start.backward(dx);
  };
  return {end.output, backward};
}

}  // namespace moe
