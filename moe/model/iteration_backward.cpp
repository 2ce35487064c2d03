#include "moe/model/iteration_builder.h"

namespace moe {

void IterationBuilder::backward() {
  const Program& program = build_.program;
  phase_ = Phase::backward;
  layer_ = -1;
  const TensorId d_logits = activation("d_logits", model_.vocabulary);
  op(CrossEntropyGradient{global_tokens_}, "cross entropy gradient",
     {logits_, program.targets, log_sum_exp_}, {d_logits});
  TensorId d = linear_input_gradient("head", d_logits, head_, model_.d_model);
  op(LinearWeightGradient{}, "head dW", {final_normed_, d_logits}, {gradient(head_)});
  d = norm_gradients("final norm", d, last_, final_norm_, final_statistics_);
  for (layer_ = model_.blocks - 1; layer_ >= 0; --layer_) d = backward_block(d);
  layer_ = -1;
  op(EmbedTokensGradient{model_.sequence_length}, "embed gradient", {program.tokens, d},
     {gradient(token_table_), gradient(position_table_)});
}

TensorId IterationBuilder::linear_input_gradient(const std::string& name, TensorId dy,
                                                 TensorId weight, std::int64_t columns) {
  const TensorId dx = activation("d_input." + name, columns);
  op(LinearInputGradient{}, name + " dX", {dy, weight}, {dx});
  return dx;
}

void IterationBuilder::linear_weight_gradient(const std::string& name, TensorId x, TensorId dy,
                                              TensorId weight, TensorId bias) {
  op(LinearWeightGradient{}, name + " dW", {x, dy}, {gradient(weight), gradient(bias)});
}

TensorId IterationBuilder::norm_gradients(const std::string& name, TensorId dy, TensorId x,
                                          const NormParameters& p, TensorId statistics) {
  const TensorId dx = activation("d_input." + name, model_.d_model);
  op(LayerNormInputGradient{}, name + " dX", {dy, x, p.scale, statistics}, {dx});
  op(LayerNormWeightGradient{}, name + " dW", {dy, x, statistics},
     {gradient(p.scale), gradient(p.shift)});
  return dx;
}

TensorId IterationBuilder::add(const std::string& name, TensorId a, TensorId b) {
  const TensorId sum = activation("sum." + name, model_.d_model);
  op(Add{}, name, {a, b}, {sum});
  return sum;
}

TensorId IterationBuilder::backward_block(TensorId dy) {
  const BlockParameters& p = parameters_[layer_];
  const BlockTape& t = tapes_[layer_];
  TensorId d = p.gate < 0 ? backward_dense(p, t, dy) : backward_experts(p, t, dy);
  d = norm_gradients("ffn norm", d, t.middle, p.norm2, t.statistics2);
  const TensorId d_middle = add("ffn residual gradient", dy, d);

  d = linear_input_gradient("attention output", d_middle, p.output, model_.d_model);
  linear_weight_gradient("attention output", t.attended, d_middle, p.output, p.output_bias);
  const TensorId d_qkv = activation("d_qkv", 3 * model_.d_model);
  const TensorId scratch = build_.activation(
      label("attention_scratch"), model_.heads * model_.sequence_length, model_.sequence_length);
  op(AttentionGradient{model_.heads, model_.sequence_length}, "attention gradient",
     {d, t.qkv, t.probabilities}, {d_qkv, scratch});
  d = linear_input_gradient("attention qkv", d_qkv, p.qkv, model_.d_model);
  linear_weight_gradient("attention qkv", t.normed1, d_qkv, p.qkv, p.qkv_bias);
  d = norm_gradients("attention norm", d, t.input, p.norm1, t.statistics1);
  return add("attention residual gradient", d_middle, d);
}

TensorId IterationBuilder::backward_dense(const BlockParameters& p, const BlockTape& t,
                                          TensorId dy) {
  TensorId d = linear_input_gradient("ffn down", dy, p.down, model_.d_hidden);
  linear_weight_gradient("ffn down", t.activated, dy, p.down, p.down_bias);
  const TensorId d_hidden = activation("d_hidden", model_.d_hidden);
  op(GeluGradient{}, "ffn gelu gradient", {d, t.hidden}, {d_hidden});
  d = linear_input_gradient("ffn up", d_hidden, p.up, model_.d_model);
  linear_weight_gradient("ffn up", t.normed2, d_hidden, p.up, p.up_bias);
  return d;
}

TensorId IterationBuilder::backward_experts(const BlockParameters& p, const BlockTape& t,
                                            TensorId dy) {
  const std::int64_t m = model_.d_model, h = model_.d_hidden, k = model_.choices;
  const TensorId d_weight = activation("d_gate_weight", k);
  op(CombineWeightGradient{model_.choices}, "combine weight gradient",
     {dy, t.returned, t.expert, t.slot, t.offsets}, {d_weight});
  const TensorId d_returned = routed("d_returned", Rows::sent, m);
  op(CombineInputGradient{model_.choices}, "combine gradient",
     {dy, t.expert, t.weight, t.slot, t.offsets}, {d_returned});
  const TensorId d_produced = routed("d_produced", Rows::received, m);
  op(AllToAll{Direction::dispatch, GroupKind::expert}, "all_to_all gradient dispatch", {d_returned},
     {d_produced});
  // Input gradients first, so that their way home does not wait for the weight gradients.
  const TensorId d_activated = routed("d_expert_activated", Rows::received, h);
  op(ExpertLinearInputGradient{local_experts()}, "experts down dX", {d_produced, p.down},
     {d_activated});
  const TensorId d_hidden = routed("d_expert_hidden", Rows::received, h);
  op(GeluGradient{}, "experts gelu gradient", {d_activated, t.expert_hidden}, {d_hidden});
  const TensorId d_received = routed("d_received", Rows::received, m);
  op(ExpertLinearInputGradient{local_experts()}, "experts up dX", {d_hidden, p.up}, {d_received});
  const TensorId d_sent = routed("d_sent", Rows::sent, m);
  op(AllToAll{Direction::combine, GroupKind::expert}, "all_to_all gradient combine", {d_received},
     {d_sent});
  op(ExpertLinearWeightGradient{local_experts(), false}, "experts down dW",
     {t.expert_activated, d_produced}, {gradient(p.down), gradient(p.down_bias)});
  op(ExpertLinearWeightGradient{local_experts(), false}, "experts up dW", {t.received, d_hidden},
     {gradient(p.up), gradient(p.up_bias)});
  const TensorId d_permuted = activation("d_permuted", m);
  op(PermuteGradient{model_.choices}, "permute gradient", {d_sent, t.expert, t.slot, t.offsets},
     {d_permuted});

  const TensorId d_logits = activation("d_gate_logits", model_.experts);
  op(GateGradient{model_.experts, model_.choices, model_.auxiliary_weight, global_tokens_},
     "gate gradient", {d_weight, t.probabilities_gate, t.expert, t.weight, t.total_demand},
     {d_logits});
  const TensorId d_gate = linear_input_gradient("gate logits", d_logits, p.gate, m);
  op(LinearWeightGradient{}, "gate logits dW", {t.normed2, d_logits}, {gradient(p.gate)});
  return add("gate input gradient", d_permuted, d_gate);
}

}  // namespace moe
