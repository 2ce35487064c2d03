#include <array>

#include "moe/model/gates/top_k.h"

namespace moe {
namespace {

constexpr std::array kSinkhornKeys{own_key(
    KeyKind::training, "sinkhorn_rounds", IntegerRange{1, 1 << 10},
    [](const Model&) -> KeyValue { return std::int64_t{8}; },
    "Times that tokens and experts are balanced by turns.")};

/// The k experts of largest entry in the matrix e^logits that is balanced by Sinkhorn's iteration
/// over the tokens of a capacity group (BalanceRanking), weighted by scores that are not balanced:
/// s = 1 / (1 + e^-logit) for k = 1, softmax(logits) for more. No auxiliary loss, and no gradient
/// through the choice.  [Clark et al. 2022, S-BASE; Megatron-LM, which goes on until the factors of
/// experts change by less than 1e-4 on average. That is a number of rounds that depends on the
/// data, and that a device would have to tell the host in every one; here the number is a key. From
/// normal logits of deviation 1 Megatron's rule takes 3 to 6 rounds, of deviation 3 11 to 21, and
/// after 8 at most 2 in 10,000 choices are others.] A held-out loss chooses without it, as Megatron
/// does.
GateOutput build_sinkhorn(LayerBuilder& build, TensorId x) {
  const Model& model = build.model;
  const int experts = model.experts, groups = build.capacity_groups_of_rank();
  const Scores kind = model.choices == 1 ? Scores::sigmoid : Scores::softmax;
  const Layer logits = gate_logits(build, x);
  const TensorId ranking = build.wide("gate_ranking", experts),
                 token_factor = build.wide("gate_token_factor", 1),
                 expert_factor = build.wide("gate_expert_factor", groups, experts);
  const auto rounds = static_cast<int>(own_integer(kSinkhornKeys[0], model));
  build.op(BalanceRanking{groups, rounds}, "gate sinkhorn", {logits.output},
           {ranking, token_factor, expert_factor});
  const TensorId scores = gate_scores(build, kind, logits.output);
  const TopK top = select_top_k(build, ranking, scores);
  const AddGradient add_z_loss = router_z_loss(build, logits.output);

  const auto backward = [=, &build](TensorId d_weight) {
    const TensorId d_logits =
        gate_scores_gradient(build, kind, d_weight, top, scores, logits.output);
    add_z_loss(d_logits);
    return logits.backward(d_logits);
  };
  return {top.expert, top.weight, top.slot, top.offsets, backward};
}

}  // namespace

Gate sinkhorn_gate() {
  return {.description = "softmax or sigmoid; choices balanced by Sinkhorn's iteration (S-BASE)",
          .facts = {.balances = false, .ranks_groups = true},
          .keys = kSinkhornKeys,
          .build = build_sinkhorn};
}

}  // namespace moe
