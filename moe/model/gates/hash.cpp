#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

/// The k experts of largest h(token id, expert), a random function of the seed and the layer that
/// stays as it is; each weighted 1 / k. Nothing is learned.  [Roller et al. 2021, "Hash Layers":
/// random hash]
GateOutput build_hash(LayerBuilder& build, TensorId) {
  const TensorId ranking = build.wide("gate_ranking", build.model.experts);
  build.op(HashTokens{build.model.seed, build.block}, "gate hash", {build.program().tokens.front()},
           {ranking});
  const TopK top = select_top_k(build, ranking, ranking, Weights::even);
  return {top.expert, top.weight, top.slot, top.offsets, {}};
}

}  // namespace

Gate hash_gate() {
  return {.description = "k experts by the token's id; learns nothing (Hash Layers)",
          .facts = {.scores_tokens = false, .balances = false, .is_drawn_once = true},
          .build = build_hash,
          .size = [](const Model& model) {
            return GateSize{0, static_cast<double>(model.experts)};
          }};
}

}  // namespace moe
