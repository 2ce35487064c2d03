#include "moe/model/experts/experts.h"

namespace moe {

/// y = gelu(x U + u) D + d for the rows of each expert, U[M,H] and D[H,M] its own. Ranks that share experts
/// hold H / n of it each, and add up what they produce.
ExpertNetwork gpt_experts(LayerBuilder& build, TensorId x) {
  const std::int64_t width = build.model.d_model, hidden = build.model.d_hidden;
  const std::int64_t hidden_here = hidden / build.sharing_ranks();
  const Rows rows = build.expert_rows();
  const int local = build.local_experts();
  const TensorId up = build.expert_weight("experts.up.weight", width, hidden, Sharded::by_columns);
  const TensorId up_bias = build.expert_bias("experts.up.bias", hidden, Sharded::by_columns);
  const TensorId down = build.expert_weight("experts.down.weight", hidden, width, Sharded::by_rows,
                                            build.residual_deviation());
  const TensorId down_bias = build.expert_bias("experts.down.bias", width, Sharded::not_at_all);

  const TensorId up_rows = build.routed("expert_hidden", rows, hidden_here);
  build.op(ExpertLinear{local}, "experts up", {x, up, up_bias}, {up_rows});
  const TensorId activated = build.routed("expert_activated", rows, hidden_here);
  build.op(Gelu{}, "experts gelu", {up_rows}, {activated});
  const TensorId produced = build.routed("produced", rows, width);
  build.op(ExpertLinear{local, 1.0 / build.sharing_ranks()}, "experts down",
           {activated, down, down_bias}, {produced});

  const auto backward = [=, &build](TensorId d_produced) -> ExpertGradients {
    const TensorId d_activated = build.routed("d_expert_activated", rows, hidden_here);
    build.op(ExpertLinearInputGradient{local}, "experts down dX", {d_produced, down},
             {d_activated});
    const TensorId d_hidden = build.routed("d_expert_hidden", rows, hidden_here);
    build.op(GeluGradient{}, "experts gelu gradient", {d_activated, up_rows}, {d_hidden});
    const TensorId d_received = build.routed("d_received", rows, width);
    build.op(ExpertLinearInputGradient{local}, "experts up dX", {d_hidden, up}, {d_received});
    const auto weights = [=, &build] {
      build.op(ExpertLinearWeightGradient{local, false}, "experts down dW", {activated, d_produced},
               {build.gradient(down), build.gradient(down_bias)});
      build.op(ExpertLinearWeightGradient{local, false}, "experts up dW", {x, d_hidden},
               {build.gradient(up), build.gradient(up_bias)});
    };
    return {d_received, weights};
  };
  return {produced, backward};
}

}  // namespace moe
