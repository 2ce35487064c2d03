#include "moe/model/gates/top_k.h"

#include "moe/model/layers/linear.h"

namespace moe {
namespace {}  // namespace

Layer gate_logits(LayerBuilder& build, TensorId x, const std::string& parameter,
                  std::int64_t outputs) {
  return linear(build,
                {.name = parameter + " logits",
                 .parameter = parameter,
                 .inputs = build.model.d_model,
                 .outputs = outputs > 0 ? outputs : build.model.experts,
                 .bias = build.model.gate_bias,
                 .wide_output = true},
                x);
}

TensorId exchange_counts(LayerBuilder& build, TensorId offsets, TensorId demand) {
  const int experts = build.model.experts;
  const TensorId total_demand = build.integers("total_demand", 1, experts);
  if (build.pads_rows()) {
    build.op(GatherLoads{{experts}, build.rows_per_pair()}, "gather loads", {offsets, demand},
             {total_demand}, Stream::host);
  } else {
    build.op(ExchangeCounts{experts}, "exchange counts", {offsets, demand}, {total_demand},
             Stream::host);
  }
  return total_demand;
}

TensorId padded_offsets(LayerBuilder& build, TensorId offsets) {
  if (!build.pads_rows()) return offsets;
  const TensorId padded = build.integers("padded_offsets", 2, build.model.experts + 1);
  build.op(PadOffsets{build.rows_per_pair()}, "pad offsets", {offsets}, {padded});
  return padded;
}

namespace {

/// `ranking`, with kLeftOutRanking for experts that are not in the best groups of a token.
TensorId of_best_groups(LayerBuilder& build, TensorId ranking) {
  const Model& model = build.model;
  const int groups = model.expert_groups, best = best_groups(model);
  if (best == groups) return ranking;
  const TensorId kept = build.wide("gate_group_ranking", model.experts),
                 scores = build.wide("gate_group_scores", groups);
  build.op(KeepBestGroups{groups, best, group_experts_counted(model)}, "gate groups", {ranking},
           {kept, scores});
  return kept;
}

}  // namespace

TopK select_top_k(LayerBuilder& build, TensorId ranking, TensorId scores, Weights weights) {
  const Model& model = build.model;
  const int experts = model.experts, choices = model.choices;
  const Gate& gate = gate_named(model.gate);
  TopK top;
  top.expert = build.integers("expert", build.tokens, choices);
  top.weight = build.wide("gate_weight", choices);
  top.slot = build.integers("slot", build.tokens, choices);
  top.offsets = build.integers("offsets", 1, experts + 1);
  const TensorId demand = build.integers("demand", 1, experts),
                 used = build.integers("capacity_used", 1, experts);
  const bool even = weights == Weights::even;
  build.op(SelectExperts{.experts = experts,
                         .choices = choices,
                         .normalize = !even && normalizes_weights(model),
                         .capacity_groups = build.capacity_groups_of_rank(),
                         .capacity = build.capacity(),
                         .drop = gate.facts.drop.value_or(model.drop),
                         .even = even,
                         .gate = gate.name,
                         .factor = model.weight_factor},
           "gate", {even ? ranking : of_best_groups(build, ranking), scores},
           {top.expert, top.weight, top.slot, top.offsets, demand, used});
  top.total_demand = exchange_counts(build, top.offsets, demand);
  top.offsets = padded_offsets(build, top.offsets);
  return top;
}

AddGradient load_balancing_loss(LayerBuilder& build, TensorId scores, const TopK& top,
                                bool normalize) {
  const TensorId loss = build.result("auxiliary_loss");
  build.program().auxiliary_losses.push_back(loss);
  const auto add_loss = [=, &build, demand = top.total_demand] {
    build.op(
        LoadBalancingLoss{build.model.experts, build.model.choices, build.global_tokens, normalize},
        "load balancing loss", {scores, demand}, {loss});
  };
  if (build.pads_rows()) {
    build.late.push_back({build.block, build.stage, add_loss});  // rows need not wait for loads
  } else {
    add_loss();
  }
  return [=, &build, demand = top.total_demand](TensorId d_scores) {
    const Model& model = build.model;
    std::vector<TensorId> reads{demand, d_scores};
    if (normalize) reads.push_back(scores);
    build.op(LoadBalancingLossGradient{model.experts, model.choices, build.auxiliary_weight,
                                       build.global_tokens},
             "load balancing gradient", reads, {d_scores});
  };
}

AddGradient router_z_loss(LayerBuilder& build, TensorId logits) {
  const double weight = build.model.z_loss_weight;
  if (weight == 0) return [](TensorId) {};
  const TensorId loss = build.result("z_loss"), log_sum_exp = build.wide("gate_log_sum_exp", 1);
  build.program().z_losses.push_back(loss);
  build.op(RouterZLoss{build.batch_tokens}, "router z loss", {logits}, {loss, log_sum_exp});
  return [=, &build](TensorId d_logits) {
    build.op(RouterZLossGradient{weight, build.batch_tokens}, "router z loss gradient",
             {logits, log_sum_exp, d_logits}, {d_logits});
  };
}

GateOutput softmax_top_k(LayerBuilder& build, const Layer& logits) {
  const TensorId probabilities = build.wide("gate_probabilities", build.model.experts);
  build.op(Softmax{}, "gate softmax", {logits.output}, {probabilities});
  const TopK top = select_top_k(build, logits.output, probabilities);
  load_balancing_loss(build, probabilities, top);
  const AddGradient add_z_loss = router_z_loss(build, logits.output);

  const auto backward = [=, &build](TensorId d_weight) {
    const TensorId d_logits =
        softmax_gate_gradient(build, d_weight, top, probabilities, build.auxiliary_weight);
    add_z_loss(d_logits);
    return logits.backward(d_logits);
  };
  return {top.expert, top.weight, top.slot, top.offsets, backward};
}

TensorId softmax_gate_gradient(LayerBuilder& build, TensorId d_weight, const TopK& top,
                               TensorId probabilities, double auxiliary_weight) {
  const Model& model = build.model;
  const TensorId d_logits = build.wide("d_gate_logits", model.experts);
  build.op(SoftmaxGateGradient{model.experts, model.choices, auxiliary_weight, build.global_tokens,
                               normalizes_weights(model), model.weight_factor},
           "gate gradient", {d_weight, probabilities, top.expert, top.weight, top.total_demand},
           {d_logits});
  return d_logits;
}

TensorId sigmoid_gate_gradient(LayerBuilder& build, TensorId d_weight, const TopK& top,
                               TensorId scores, TensorId logits, const AddGradient& add_losses) {
  const Model& model = build.model;
  const TensorId d_scores = build.wide("d_gate_chosen", model.experts);
  build.op(SelectExpertsGradient{model.experts, model.choices, normalizes_weights(model),
                                 model.weight_factor},
           "gate gradient", {d_weight, scores, top.expert, top.weight}, {d_scores});
  add_losses(d_scores);
  const TensorId d_logits = build.wide("d_gate_logits", model.experts);
  build.op(SigmoidGradient{}, "gate sigmoid gradient", {d_scores, logits}, {d_logits});
  return d_logits;
}

TensorId gate_scores(LayerBuilder& build, Scores kind, TensorId logits) {
  const TensorId scores = build.wide("gate_scores", build.model.experts);
  if (kind == Scores::softmax) {
    build.op(Softmax{}, "gate softmax", {logits}, {scores});
  } else {
    build.op(Sigmoid{}, "gate sigmoid", {logits}, {scores});
  }
  return scores;
}

TensorId gate_scores_gradient(LayerBuilder& build, Scores kind, TensorId d_weight, const TopK& top,
                              TensorId scores, TensorId logits) {
  if (kind == Scores::softmax) return softmax_gate_gradient(build, d_weight, top, scores, 0);
  return sigmoid_gate_gradient(build, d_weight, top, scores, logits, [](TensorId) {});
}

}  // namespace moe
