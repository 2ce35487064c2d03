#include "tests/moe/model/random_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/orders/orders.h"
#include "moe/model/rotary_keys.h"
#include "tests/moe/train/training_case.h"

namespace moe::test {
namespace {

/// Keys whose every value goes with any sizes.
constexpr std::array<std::string_view, 27> kDrawnByRange{"norm",
                                                         "query_key_norm",
                                                         "normalize_weights",
                                                         "weight_factor",
                                                         "gate_bias",
                                                         "shared_expert_gate",
                                                         "norm_epsilon",
                                                         "positions",
                                                         "rotary_base",
                                                         "head",
                                                         "expert",
                                                         "biases",
                                                         "activation",
                                                         "shard_vocabulary",
                                                         "batch_per",
                                                         "exchange",
                                                         "weight_gradients",
                                                         "optimizer",
                                                         "auxiliary_weight",
                                                         "momentum",
                                                         "nesterov",
                                                         "epsilon",
                                                         "clip_norm",
                                                         "weight_decay",
                                                         "warmup_steps",
                                                         "decay_steps",
                                                         "learning_rate_schedule"};

struct DrawByRange {
  std::mt19937& random;

  KeyValue operator()(const IntegerRange& range) const {
    // Not the least: one dimension or one choice is often a case of its own.
    const std::int64_t next = range.least + 1 + static_cast<std::int64_t>(random() % 7);
    return std::min(next, range.most);
  }
  KeyValue operator()(const NumberRange& range) const {
    if (!range.word.empty() && random() % 3 == 0) return std::string(range.word);
    constexpr double kStep = 0.125;
    double number = kStep * static_cast<double>(random() % 16);
    while (number < range.least) number += kStep;
    return number > range.most ? range.least : number;
  }
  KeyValue operator()(const WordRange& range) const {
    const std::vector<std::string_view> words = range.words();
    return std::string(words[random() % words.size()]);
  }
  KeyValue operator()(TrueOrFalse) const { return random() % 2 == 0; }
  KeyValue operator()(AnyText) const { return fmt::format("model {}", random() % 1000); }
};

}  // namespace

KeyValue drawn_value(std::mt19937& random, const ModelKey& key) {
  if (key.name == "window_pattern") return std::string(random() % 2 == 0 ? "fs" : "sf");
  if (key.name == "rotary_pattern") return std::string(random() % 2 == 0 ? "tn" : "nt");
  if (key.name == "block_pattern") return std::string(random() % 2 == 0 ? "de" : "ed");
  const KeyValue value = std::visit(DrawByRange{random}, key.range);
  // Whoever sees one key alone has no use for scores: their gradients are rounding, and nothing else.
  if (key.name == "window") return std::get<std::int64_t>(value) + 1;
  // Nor for one value that is normed: its gradient is rounding, too.
  if (key.name == "latent_query_rank") return std::get<std::int64_t>(value) + 1;
  return value;
}

std::string refusal_of(const ModelKey& key, const Model& model, const KeyValue& value) {
  for (const KeyCondition& condition : key.conditions) {
    if (std::string refusal = condition.refusal(model, value); !refusal.empty()) return refusal;
  }
  return "";
}

Model random_model(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<int> values) {
    return values.begin()[random() % values.size()];
  };
  Model model = small_model(pick({0, 1}) ? DType::f64 : DType::f32);
  model.sequence_length = pick({4, 6, 9});
  model.heads = pick({1, 2, 4});
  model.d_model = 8 * pick({1, 2, 3});
  model.d_hidden = pick({8, 20, 33, 28});
  model.experts = pick({24, 28, 10});
  model.micro_batches = pick({1, 1, 2, 3});
  // For 3, 6 and 8 ranks, or for 7.
  model.global_batch = model.capacity_groups = pick({24, 28}) * model.micro_batches;
  model.blocks = pick({1, 2, 3});
  model.moe_every = pick({1, 2});
  if (model.blocks < model.moe_every) model.moe_every = 1;
  const Gate& gate = gates()[random() % gates().size()];
  model.gate = gate.name;
  // In float two experts may be as near to each other as rounding is: the sigmoids of a model at
  // its beginning nearly always, the more so the more choices there are.
  if (model.gate == "bias_adjusted" || model.gate == "sinkhorn") model.dtype = DType::f64;
  if (model.gate == "bias_adjusted") {
    model.own["adjusted_scores"] = std::string(pick({0, 1}) ? "softmax" : "sigmoid");
  }
  model.choices = model.dtype == DType::f64 ? pick({1, 2, 3, 7}) : pick({1, 2});
  model.drop = gate.facts.scores_tokens ? static_cast<Drop>(pick({0, 1, 2}))
                                        : static_cast<Drop>(pick({0, 1}));
  if (gate.facts.scores_tokens && pick({0, 1})) model.z_loss_weight = 0.01;
  model.capacity_factor = pick({0, 1}) ? std::optional<double>(pick({1, 2}) * 0.75) : std::nullopt;
  model.order = orders()[random() % orders().size()].name;
  const Chooser chooser = gate.facts.chooser;
  if (takes_whole_groups(chooser)) model.capacity_factor = pick({1, 4});
  if (chooser == Chooser::nobody) model.order = "einsum";
  // The one hook that is the same on any ranks: rounding makes steps of the least differences.
  if (pick({0, 1})) model.hooks["before_moe_start"] = "jitter";
  model.seed = static_cast<std::int64_t>(random() % 1000);
  if (pick({0, 1})) model.key_value_heads = model.heads > 1 && pick({0, 1}) ? model.heads / 2 : 1;
  if (pick({0, 0, 1})) model.head_width = pick({2, 6, 10});
  // Keys of latent attention go with few others' values, so that the loop below would seldom set them.
  if (pick({0, 0, 1})) {
    model.positions = Positions::rotary;
    model.head_width = pick({6, 10});
    model.own["rotary_columns"] = std::int64_t{pick({2, 4})};
    model.own["latent_rank"] = std::int64_t{pick({1, 5, 8})};
    model.own["latent_query_rank"] = std::int64_t{pick({0, 3})};
  }
  if (pick({0, 0, 1})) model.d_expert = 12;
  if (pick({0, 1})) model.least_learning_rate = model.learning_rate / 8;
  // Where beta2 is less than the square of beta1, a gradient that is nearly nothing makes a step
  // without bounds, and a difference of rounding another model.
  if (pick({0, 1})) model.beta1 = 0.8;
  if (pick({0, 1})) model.beta2 = 0.95;
  if (pick({0, 0, 1})) model.shared_experts = pick({1, 2});
  if (gate.facts.scores_tokens && chooser == Chooser::token && model.experts % 4 == 0 &&
      pick({0, 0, 1})) {
    model.expert_groups = 4;  // of 6 or 7 experts
    model.best_groups = pick({2, 3});
    if (pick({0, 1})) model.group_experts_counted = pick({1, 2, 3});
  }
  if (pick({0, 0, 1}) && model.blocks > model.moe_every) model.dense_blocks = 1;
  for (const ModelKey* key : keys_of(model)) {
    const bool own = key->fallback != nullptr;
    if (!own && std::count(kDrawnByRange.begin(), kDrawnByRange.end(), key->name) == 0) continue;
    const KeyValue value = drawn_value(random, *key);
    if (pick({0, 1}) && refusal_of(*key, model, value).empty()) key->set(*key, model, value);
  }
  for (const ModelKey* key : keys_of(model)) {
    const auto own = model.own.find(key->name);
    if (own != model.own.end() && !refusal_of(*key, model, own->second).empty())
      model.own.erase(own);
  }
  // A key's bias adds the same to all scores that nothing turns: its gradient is rounding.
  if (model.own.contains("latent_rank")) model.own.erase("rotary_pattern");
  // One expert's weight over itself is 1 whatever its score: without another loss of scores their
  // gradient is rounding.
  const bool has_loss_of_scores =
      model.z_loss_weight > 0 || (gate.facts.balances && model.auxiliary_weight > 0);
  if (model.choices == 1 && !has_loss_of_scores) model.normalize_weights.reset();
  // Ranks of tp refuse to norm all heads together.
  if (model.query_key_norm == QueryKeyNorms::all) model.query_key_norm = QueryKeyNorms::head;
  if (!rotary_refusal(model).empty()) {
    model.own.erase("rotary_slow_turns");
    model.own.erase("rotary_fast_turns");
  }
  if (falls_to_an_end(model) && model.decay_steps == 0) model.decay_steps = model.warmup_steps + 5;
  if (model.learning_rate_schedule == RateSchedule::constant) model.least_learning_rate = 0;
  return model;
}

}  // namespace moe::test
