#include "moe/model/iteration_builder.h"

namespace moe {

void IterationBuilder::forward() {
  const Program& program = build_.program;
  phase_ = Phase::forward;
  layer_ = -1;
  TensorId x = activation("embedded", model_.d_model);
  op(EmbedTokens{model_.sequence_length}, "embed", {program.tokens, token_table_, position_table_},
     {x});
  for (layer_ = 0; layer_ < model_.blocks; ++layer_) x = forward_block(x);
  layer_ = -1;
  last_ = x;
  final_normed_ = activation("final_normed", model_.d_model);
  final_statistics_ = activation("final_statistics", 2);
  op(LayerNorm{}, "final norm", {x, final_norm_.scale, final_norm_.shift},
     {final_normed_, final_statistics_});
  logits_ = activation("logits", model_.vocabulary);
  op(Linear{}, "head", {final_normed_, head_}, {logits_});
  log_sum_exp_ = activation("log_sum_exp", 1);
  op(CrossEntropy{global_tokens_}, "cross entropy", {logits_, program.targets},
     {program.loss, log_sum_exp_});
}

TensorId IterationBuilder::forward_block(TensorId x) {
  const BlockParameters& p = parameters_[layer_];
  const std::int64_t m = model_.d_model;
  BlockTape t{};
  t.input = x;
  t.normed1 = activation("normed1", m);
  t.statistics1 = activation("statistics1", 2);
  op(LayerNorm{}, "attention norm", {x, p.norm1.scale, p.norm1.shift}, {t.normed1, t.statistics1});
  t.qkv = activation("qkv", 3 * m);
  op(Linear{}, "attention qkv", {t.normed1, p.qkv, p.qkv_bias}, {t.qkv});
  t.attended = activation("attended", m);
  t.probabilities = build_.activation(label("attention_probabilities"), tokens_ * model_.heads,
                                      model_.sequence_length);
  op(Attention{model_.heads, model_.sequence_length}, "attention", {t.qkv},
     {t.attended, t.probabilities});
  const TensorId projected = activation("projected", m);
  op(Linear{}, "attention output", {t.attended, p.output, p.output_bias}, {projected});
  t.middle = activation("middle", m);
  op(Add{}, "attention residual", {x, projected}, {t.middle});
  t.normed2 = activation("normed2", m);
  t.statistics2 = activation("statistics2", 2);
  op(LayerNorm{}, "ffn norm", {t.middle, p.norm2.scale, p.norm2.shift}, {t.normed2, t.statistics2});
  const TensorId y = p.gate < 0 ? forward_dense(p, t) : forward_experts(p, t);
  const TensorId output = activation("output", m);
  op(Add{}, "ffn residual", {t.middle, y}, {output});
  tapes_.push_back(t);
  return output;
}

TensorId IterationBuilder::forward_dense(const BlockParameters& p, BlockTape& t) {
  t.hidden = activation("hidden", model_.d_hidden);
  op(Linear{}, "ffn up", {t.normed2, p.up, p.up_bias}, {t.hidden});
  t.activated = activation("activated", model_.d_hidden);
  op(Gelu{}, "ffn gelu", {t.hidden}, {t.activated});
  const TensorId y = activation("ffn_output", model_.d_model);
  op(Linear{}, "ffn down", {t.activated, p.down, p.down_bias}, {y});
  return y;
}

TensorId IterationBuilder::forward_experts(const BlockParameters& p, BlockTape& t) {
  const std::int64_t m = model_.d_model, e = model_.experts, k = model_.choices;
  const TensorId logits = activation("gate_logits", e);
  op(Linear{}, "gate logits", {t.normed2, p.gate}, {logits});
  t.probabilities_gate = activation("gate_probabilities", e);
  t.expert = integers("expert", tokens_, k);
  t.weight = activation("gate_weight", k);
  t.slot = integers("slot", tokens_, k);
  t.offsets = integers("offsets", 1, e + 1);
  const TensorId demand = integers("demand", 1, e);
  op(Gate{model_.experts, model_.choices, groups_of_rank(), capacity()}, "gate", {logits},
     {t.probabilities_gate, t.expert, t.weight, t.slot, t.offsets, demand});
  t.total_demand = integers("total_demand", 1, e);
  op(ExchangeCounts{model_.experts}, "exchange counts", {t.offsets, demand}, {t.total_demand});
  build_.program.ops.back().stream = Stream::host;
  const TensorId loss = build_.result(label("auxiliary_loss"));
  build_.program.auxiliary_losses.push_back(loss);
  op(LoadBalancingLoss{model_.experts, model_.choices, global_tokens_}, "load balancing loss",
     {t.probabilities_gate, t.total_demand}, {loss});

  t.sent = routed("sent", Rows::sent, m);
  op(Permute{model_.choices}, "permute", {t.normed2, t.expert, t.slot, t.offsets}, {t.sent});
  t.received = routed("received", Rows::received, m);
  op(AllToAll{Direction::dispatch, GroupKind::expert}, "all_to_all dispatch", {t.sent},
     {t.received});
  t.expert_hidden = routed("expert_hidden", Rows::received, model_.d_hidden);
  op(ExpertLinear{local_experts()}, "experts up", {t.received, p.up, p.up_bias}, {t.expert_hidden});
  t.expert_activated = routed("expert_activated", Rows::received, model_.d_hidden);
  op(Gelu{}, "experts gelu", {t.expert_hidden}, {t.expert_activated});
  t.produced = routed("produced", Rows::received, m);
  op(ExpertLinear{local_experts()}, "experts down", {t.expert_activated, p.down, p.down_bias},
     {t.produced});
  t.returned = routed("returned", Rows::sent, m);
  op(AllToAll{Direction::combine, GroupKind::expert}, "all_to_all combine", {t.produced},
     {t.returned});
  const TensorId y = activation("combined", m);
  op(Combine{model_.choices}, "combine", {t.returned, t.expert, t.weight, t.slot, t.offsets}, {y});
  return y;
}

}  // namespace moe
