#include "moe/model.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "moe/program_builder.h"

namespace moe {
namespace {

constexpr double kInitialDeviation = 0.02;

bool has_experts(const Model& model, int block) {
  return model.moe_every > 0 && (block + 1) % model.moe_every == 0;
}

/// Copies an expert keeps per capacity group; none when dropless.
std::optional<std::int64_t> capacity_of(const Model& model, std::int64_t group_tokens) {
  if (!model.capacity_factor) return std::nullopt;
  const double copies = model.choices * *model.capacity_factor * static_cast<double>(group_tokens) /
                        static_cast<double>(model.experts);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(copies)));
}

/// What backward needs of one block's forward.
struct BlockTape {
  // attention half
  TensorId input, normed1, statistics1, qkv, attended, probabilities, middle;
  // feed-forward half
  TensorId normed2, statistics2;
  TensorId hidden, activated;                                                // dense
  TensorId probabilities_gate, expert, weight, slot, offsets, total_demand;  // experts
  TensorId sent, received, expert_hidden, expert_activated, produced, returned;
};

struct NormParameters {
  TensorId scale, shift;
};

/// Builds one rank's iteration op by op; the order of the calls is the order of the Program.
class IterationBuilder {
 public:
  IterationBuilder(const Model& model, const Groups& groups, int rank)
      : model_(model),
        groups_(groups),
        rank_(rank),
        tokens_(model.global_batch / groups.ranks * model.sequence_length),
        global_tokens_(model.global_batch * model.sequence_length),
        build_(model.dtype) {}

  Program iteration() {
    declare();
    forward();
    backward();
    reduce_gradients();
    update();
    return finish();
  }

 private:
  Program finish() {
    Program program = std::move(build_.program);
    validate(program);
    return program;
  }

  // --- parameters ---------------------------------------------------------------------------

  TensorId weight(const std::string& name, std::int64_t rows, std::int64_t columns,
                  double deviation = kInitialDeviation) {
    return build_.parameter({name, rows, columns, Initial::normal, deviation, 0, false});
  }
  TensorId bias(const std::string& name, std::int64_t columns) {
    return build_.parameter({name, 1, columns, Initial::zero, 0, 0, false});
  }
  TensorId expert_parameter(const std::string& name, std::int64_t rows, std::int64_t columns,
                            double deviation) {
    const std::int64_t local = model_.experts / groups_.expert_ranks;
    const std::int64_t first =
        local * index_in_group(groups_, GroupKind::expert, rank_) * rows * columns;
    return build_.parameter({name, local * rows, columns,
                             deviation > 0 ? Initial::normal : Initial::zero, deviation, first,
                             true});
  }
  NormParameters norm(const std::string& name) {
    return {build_.parameter({name + ".scale", 1, model_.d_model, Initial::one, 0, 0, false}),
            bias(name + ".shift", model_.d_model)};
  }

  struct BlockParameters {
    NormParameters norm1, norm2;
    TensorId qkv, qkv_bias, output, output_bias;
    TensorId up, up_bias, down, down_bias;  ///< of the dense network or of the experts
    TensorId gate = -1;
  };

  void declare() {
    Program& program = build_.program;
    const std::int64_t m = model_.d_model, h = model_.d_hidden;
    program.tokens = build_.input("tokens", tokens_);
    program.targets = build_.input("targets", tokens_);
    program.step = build_.input("step", 1);
    program.loss = build_.result("loss");
    token_table_ = weight("token_table", model_.vocabulary, m);
    position_table_ = weight("position_table", model_.sequence_length, m);
    // Layers that write into the residual stream start smaller, so that its variance does not grow
    // with depth.
    const double residual = kInitialDeviation / std::sqrt(2.0 * model_.blocks);
    for (int i = 0; i < model_.blocks; ++i) {
      const std::string name = fmt::format("block{}.", i);
      BlockParameters block;
      block.norm1 = norm(name + "norm1");
      block.qkv = weight(name + "attention.qkv.weight", m, 3 * m);
      block.qkv_bias = bias(name + "attention.qkv.bias", 3 * m);
      block.output = weight(name + "attention.output.weight", m, m, residual);
      block.output_bias = bias(name + "attention.output.bias", m);
      block.norm2 = norm(name + "norm2");
      if (has_experts(model_, i)) {
        block.gate = weight(name + "gate.weight", m, model_.experts);
        block.up = expert_parameter(name + "experts.up.weight", m, h, kInitialDeviation);
        block.up_bias = expert_parameter(name + "experts.up.bias", 1, h, 0);
        block.down = expert_parameter(name + "experts.down.weight", h, m, residual);
        block.down_bias = expert_parameter(name + "experts.down.bias", 1, m, 0);
      } else {
        block.up = weight(name + "ffn.up.weight", m, h);
        block.up_bias = bias(name + "ffn.up.bias", h);
        block.down = weight(name + "ffn.down.weight", h, m, residual);
        block.down_bias = bias(name + "ffn.down.bias", m);
      }
      parameters_.push_back(block);
    }
    final_norm_ = norm("final_norm");
    head_ = weight("head.weight", m, model_.vocabulary);
  }

  // --- shorthand ----------------------------------------------------------------------------

  TensorId activation(const std::string& name, std::int64_t columns) {
    return build_.activation(label(name), tokens_, columns);
  }
  TensorId integers(const std::string& name, std::int64_t rows, std::int64_t columns) {
    return build_.activation(label(name), rows, columns, DType::i32);
  }
  TensorId routed(const std::string& name, Rows rows_are, std::int64_t columns) {
    const auto capacity = capacity_of(model_, global_tokens_ / capacity_groups());
    const std::int64_t sent = capacity ? *capacity * groups_of_rank() * model_.experts
                                       : 0;  // received: as much, from everyone
    return build_.routed(label(name), rows_are, sent, columns, layer_);
  }
  std::string label(const std::string& name) const {
    return layer_ < 0 ? name : fmt::format("block{}.{}", layer_, name);
  }
  TensorId gradient(TensorId parameter) const { return build_.gradient_of(parameter); }
  void op(OpKind kind, std::string name, std::vector<TensorId> reads,
          std::vector<TensorId> writes) {
    build_.op(std::move(kind), std::move(name), std::move(reads), std::move(writes), layer_,
              phase_);
  }
  int capacity_groups() const {
    return model_.capacity_groups > 0 ? model_.capacity_groups : groups_.ranks;
  }
  int groups_of_rank() const { return capacity_groups() / groups_.ranks; }
  int local_experts() const { return model_.experts / groups_.expert_ranks; }

  // --- forward ------------------------------------------------------------------------------

  void forward() {
    const Program& program = build_.program;
    phase_ = Phase::forward;
    layer_ = -1;
    TensorId x = activation("embedded", model_.d_model);
    op(EmbedTokens{model_.sequence_length}, "embed",
       {program.tokens, token_table_, position_table_}, {x});
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

  TensorId forward_block(TensorId x) {
    const BlockParameters& p = parameters_[layer_];
    const std::int64_t m = model_.d_model;
    BlockTape t{};
    t.input = x;
    t.normed1 = activation("normed1", m);
    t.statistics1 = activation("statistics1", 2);
    op(LayerNorm{}, "attention norm", {x, p.norm1.scale, p.norm1.shift},
       {t.normed1, t.statistics1});
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
    op(LayerNorm{}, "ffn norm", {t.middle, p.norm2.scale, p.norm2.shift},
       {t.normed2, t.statistics2});
    const TensorId y = p.gate < 0 ? forward_dense(p, t) : forward_experts(p, t);
    const TensorId output = activation("output", m);
    op(Add{}, "ffn residual", {t.middle, y}, {output});
    tapes_.push_back(t);
    return output;
  }

  TensorId forward_dense(const BlockParameters& p, BlockTape& t) {
    t.hidden = activation("hidden", model_.d_hidden);
    op(Linear{}, "ffn up", {t.normed2, p.up, p.up_bias}, {t.hidden});
    t.activated = activation("activated", model_.d_hidden);
    op(Gelu{}, "ffn gelu", {t.hidden}, {t.activated});
    const TensorId y = activation("ffn_output", model_.d_model);
    op(Linear{}, "ffn down", {t.activated, p.down, p.down_bias}, {y});
    return y;
  }

  TensorId forward_experts(const BlockParameters& p, BlockTape& t) {
    const std::int64_t m = model_.d_model, e = model_.experts, k = model_.choices;
    const TensorId logits = activation("gate_logits", e);
    op(Linear{}, "gate logits", {t.normed2, p.gate}, {logits});
    t.probabilities_gate = activation("gate_probabilities", e);
    t.expert = integers("expert", tokens_, k);
    t.weight = activation("gate_weight", k);
    t.slot = integers("slot", tokens_, k);
    t.offsets = integers("offsets", 1, e + 1);
    const TensorId demand = integers("demand", 1, e);
    op(Gate{model_.experts, model_.choices, groups_of_rank(),
            capacity_of(model_, global_tokens_ / capacity_groups())},
       "gate", {logits}, {t.probabilities_gate, t.expert, t.weight, t.slot, t.offsets, demand});
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
    op(ExpertLinear{local_experts()}, "experts up", {t.received, p.up, p.up_bias},
       {t.expert_hidden});
    t.expert_activated = routed("expert_activated", Rows::received, model_.d_hidden);
    op(Gelu{}, "experts gelu", {t.expert_hidden}, {t.expert_activated});
    t.produced = routed("produced", Rows::received, m);
    op(ExpertLinear{local_experts()}, "experts down", {t.expert_activated, p.down, p.down_bias},
       {t.produced});
    t.returned = routed("returned", Rows::sent, m);
    op(AllToAll{Direction::combine, GroupKind::expert}, "all_to_all combine", {t.produced},
       {t.returned});
    const TensorId y = activation("combined", m);
    op(Combine{model_.choices}, "combine", {t.returned, t.expert, t.weight, t.slot, t.offsets},
       {y});
    return y;
  }

  // --- backward -----------------------------------------------------------------------------

  void backward() {
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

  TensorId linear_input_gradient(const std::string& name, TensorId dy, TensorId weight,
                                 std::int64_t columns) {
    const TensorId dx = activation("d_input." + name, columns);
    op(LinearInputGradient{}, name + " dX", {dy, weight}, {dx});
    return dx;
  }
  void linear_weight_gradient(const std::string& name, TensorId x, TensorId dy, TensorId weight,
                              TensorId bias) {
    op(LinearWeightGradient{}, name + " dW", {x, dy}, {gradient(weight), gradient(bias)});
  }
  TensorId norm_gradients(const std::string& name, TensorId dy, TensorId x, const NormParameters& p,
                          TensorId statistics) {
    const TensorId dx = activation("d_input." + name, model_.d_model);
    op(LayerNormInputGradient{}, name + " dX", {dy, x, p.scale, statistics}, {dx});
    op(LayerNormWeightGradient{}, name + " dW", {dy, x, statistics},
       {gradient(p.scale), gradient(p.shift)});
    return dx;
  }
  TensorId add(const std::string& name, TensorId a, TensorId b) {
    const TensorId sum = activation("sum." + name, model_.d_model);
    op(Add{}, name, {a, b}, {sum});
    return sum;
  }

  TensorId backward_block(TensorId dy) {
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

  TensorId backward_dense(const BlockParameters& p, const BlockTape& t, TensorId dy) {
    TensorId d = linear_input_gradient("ffn down", dy, p.down, model_.d_hidden);
    linear_weight_gradient("ffn down", t.activated, dy, p.down, p.down_bias);
    const TensorId d_hidden = activation("d_hidden", model_.d_hidden);
    op(GeluGradient{}, "ffn gelu gradient", {d, t.hidden}, {d_hidden});
    d = linear_input_gradient("ffn up", d_hidden, p.up, model_.d_model);
    linear_weight_gradient("ffn up", t.normed2, d_hidden, p.up, p.up_bias);
    return d;
  }

  TensorId backward_experts(const BlockParameters& p, const BlockTape& t, TensorId dy) {
    const std::int64_t m = model_.d_model, h = model_.d_hidden, k = model_.choices;
    const TensorId d_weight = activation("d_gate_weight", k);
    op(CombineWeightGradient{model_.choices}, "combine weight gradient",
       {dy, t.returned, t.expert, t.slot, t.offsets}, {d_weight});
    const TensorId d_returned = routed("d_returned", Rows::sent, m);
    op(CombineInputGradient{model_.choices}, "combine gradient",
       {dy, t.expert, t.weight, t.slot, t.offsets}, {d_returned});
    const TensorId d_produced = routed("d_produced", Rows::received, m);
    op(AllToAll{Direction::dispatch, GroupKind::expert}, "all_to_all gradient dispatch",
       {d_returned}, {d_produced});
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

  // --- update -------------------------------------------------------------------------------

  /// One all-reduce per block and group, in the order in which backward completes them.
  void reduce_gradients() {
    phase_ = Phase::backward;
    const auto reduce = [&](const std::string& prefix, int layer) {
      layer_ = layer;
      for (const GroupKind group : {GroupKind::world, GroupKind::expert_data}) {
        if (members(groups_, group, rank_).size() < 2) continue;
        std::vector<TensorId> gradients;
        for (const Parameter& parameter : build_.program.parameters) {
          const std::string& name = build_.program.tensors[parameter.value].name;
          const bool of_block = name.starts_with("block");
          const bool wanted = prefix.empty() ? !of_block : name.starts_with(prefix);
          if (wanted && parameter.expert == (group == GroupKind::expert_data))
            gradients.push_back(parameter.gradient);
        }
        if (!gradients.empty())
          op(AllReduce{group}, group == GroupKind::world ? "all_reduce" : "all_reduce experts",
             gradients, gradients);
      }
    };
    for (int block = model_.blocks - 1; block >= 0; --block)
      reduce(fmt::format("block{}.", block), block);
    reduce("", -1);
    layer_ = -1;
  }

  void update() {
    phase_ = Phase::update;
    layer_ = -1;
    Program& program = build_.program;
    for (Parameter& parameter : program.parameters) {
      const std::string name = program.tensors[parameter.value].name;
      if (model_.optimizer == Optimizer::adam) {
        parameter.optimizer_state = {build_.state_like(parameter.value, "first_moment"),
                                     build_.state_like(parameter.value, "second_moment")};
        op(AdamStep{model_.learning_rate, 0.9, 0.999, 1e-8}, "update " + name,
           {parameter.gradient, program.step},
           {parameter.value, parameter.optimizer_state[0], parameter.optimizer_state[1]});
      } else {
        parameter.optimizer_state = {build_.state_like(parameter.value, "momentum")};
        op(SgdStep{model_.learning_rate, model_.momentum}, "update " + name, {parameter.gradient},
           {parameter.value, parameter.optimizer_state[0]});
      }
    }
  }

  const Model& model_;
  const Groups& groups_;
  int rank_;
  std::int64_t tokens_, global_tokens_;
  ProgramBuilder build_;
  int layer_ = -1;
  Phase phase_ = Phase::forward;

  TensorId token_table_ = -1, position_table_ = -1, head_ = -1;
  NormParameters final_norm_{};
  std::vector<BlockParameters> parameters_;
  std::vector<BlockTape> tapes_;
  TensorId last_ = -1, final_normed_ = -1, final_statistics_ = -1, logits_ = -1, log_sum_exp_ = -1;
};

}  // namespace

void check(const Model& model, const Groups& groups) {
  const auto fail = [](const std::string& why) { throw std::invalid_argument(why); };
  if (model.global_batch % groups.ranks != 0)
    fail(fmt::format("model {}: global_batch = {} does not divide by {} ranks", model.name,
                     model.global_batch, groups.ranks));
  if (model.moe_every > 0 && model.experts % groups.expert_ranks != 0)
    fail(fmt::format("model {}: experts = {} does not divide by {} ranks", model.name,
                     model.experts, groups.expert_ranks));
  if (model.capacity_groups > 0 && model.capacity_groups % groups.ranks != 0)
    fail(fmt::format("model {}: capacity_groups = {} does not divide by {} ranks", model.name,
                     model.capacity_groups, groups.ranks));
  const int capacity_groups = model.capacity_groups > 0 ? model.capacity_groups : groups.ranks;
  if (model.global_batch * model.sequence_length % capacity_groups != 0)
    fail(fmt::format("model {}: {} tokens do not divide into {} capacity groups", model.name,
                     model.global_batch * model.sequence_length, capacity_groups));
  if (model.d_model % model.heads != 0)
    fail(fmt::format("model {}: d_model = {} does not divide by {} heads", model.name,
                     model.d_model, model.heads));
}

Program build_iteration(const Model& model, const Groups& groups, int rank) {
  check(model, groups);
  return IterationBuilder(model, groups, rank).iteration();
}

Program forward_only(Program program) {
  std::erase_if(program.ops, [](const Op& op) { return op.phase != Phase::forward; });
  return program;
}

std::int64_t parameter_count(const Model& model) {
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  std::int64_t count = 0;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    count += tensor.rows * tensor.columns;
  }
  return count;
}

}  // namespace moe
