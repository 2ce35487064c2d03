#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

/// k experts by chance, others in every iteration, each weighted 1 / k; nothing is learned.  [Zuo
/// et al. 2022, THOR] A held-out loss draws as the iteration before it did.
GateOutput build_random(LayerBuilder& build, TensorId) {
  const TensorId ranking = build.wide("gate_ranking", build.model.experts);
  build.op(DrawRanking{build.draw()}, "gate draw", {build.program().step}, {ranking});
  const TopK top = select_top_k(build, ranking, ranking, Weights::even);
  return {top.expert, top.weight, top.slot, top.offsets, {}};
}

}  // namespace

Gate random_gate() {
  return {.description = "k experts by chance; learns nothing (THOR)",
          .facts = {.scores_tokens = false, .balances = false},
          .build = build_random,
          .size = [](const Model& model) {
            return GateSize{0, static_cast<double>(model.experts)};
          }};
}

}  // namespace moe
