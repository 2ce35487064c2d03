#include "moe/model/gates/top_k.h"

namespace moe {

/// k experts by chance, others in every iteration, each weighted 1 / k; nothing is learned.  [Zuo et al. 2022,
/// THOR] A held-out loss draws as the iteration before it did.
GateOutput random_gate(LayerBuilder& build, TensorId) {
  const TensorId ranking = build.activation("gate_ranking", build.model.experts);
  build.op(DrawRanking{build.draw()}, "gate draw", {build.program().step}, {ranking});
  const TopK top = select_top_k(build, ranking, ranking, Weights::even);
  return {top.expert, top.weight, top.slot, top.offsets, {}};
}

}  // namespace moe
