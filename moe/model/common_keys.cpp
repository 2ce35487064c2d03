#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "moe/model/attention_biases.h"
#include "moe/model/attention_keys.h"
#include "moe/model/block_pattern.h"
#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/hooks/hooks.h"
#include "moe/model/joined.h"
#include "moe/model/key_conditions.h"
#include "moe/model/key_words.h"
#include "moe/model/latent_keys.h"
#include "moe/model/limits.h"
#include "moe/model/model_key.h"
#include "moe/model/orders/orders.h"
#include "moe/model/residual_keys.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

constexpr std::int64_t kLargestInt = std::numeric_limits<int>::max();

template <auto kTable>
std::vector<std::string_view> names_in() {
  std::vector<std::string_view> names;
  for (const auto& one : kTable()) names.push_back(one.name);
  return names;
}

/// Members whose values are those of the key: numbers, words and texts.
template <auto kMember>
struct Member {
  using Type = std::remove_cvref_t<decltype(std::declval<Model>().*kMember)>;

  static KeyValue get(const ModelKey&, const Model& model) {
    const Type& value = model.*kMember;
    if constexpr (std::is_enum_v<Type>) {
      return std::string(kWordsOf<Type>[static_cast<std::size_t>(value)]);
    } else if constexpr (std::is_same_v<Type, int>) {
      return std::int64_t{value};
    } else {
      return value;
    }
  }
  static void set(const ModelKey&, Model& model, const KeyValue& value) {
    if constexpr (std::is_enum_v<Type>) {
      const auto& words = kWordsOf<Type>;
      const auto found = std::find(words.begin(), words.end(), std::get<std::string>(value));
      model.*kMember = static_cast<Type>(found - words.begin());
    } else if constexpr (std::is_same_v<Type, int>) {
      model.*kMember = static_cast<int>(std::get<std::int64_t>(value));
    } else {
      model.*kMember = std::get<Type>(value);
    }
  }
};

/// Members that follow another key as long as nothing sets them.
template <auto kMember, auto kInForce>
struct FollowingMember {
  using Type = typename std::remove_cvref_t<decltype(std::declval<Model>().*kMember)>::value_type;
  using InFile =
      std::conditional_t<std::is_floating_point_v<Type>, double,
                         std::conditional_t<std::is_same_v<Type, bool>, bool, std::int64_t>>;

  static KeyValue get(const ModelKey&, const Model& model) {
    return static_cast<InFile>(kInForce(model));
  }
  static void set(const ModelKey&, Model& model, const KeyValue& value) {
    model.*kMember = static_cast<Type>(std::get<InFile>(value));
  }
};

/// Members that are a number, or none where the word of the key's range stands in its place.
template <auto kMember>
struct OptionalNumber {
  static KeyValue get(const ModelKey& key, const Model& model) {
    if (model.*kMember) return *(model.*kMember);
    return std::string(std::get<NumberRange>(key.range).word);
  }
  static void set(const ModelKey&, Model& model, const KeyValue& value) {
    const double* number = std::get_if<double>(&value);
    model.*kMember = number == nullptr ? std::nullopt : std::optional(*number);
  }
};

KeyValue hook_at(const ModelKey& key, const Model& model) {
  const auto found = model.hooks.find(std::string(key.name));
  return found == model.hooks.end() ? std::string() : found->second;
}
void set_hook_at(const ModelKey& key, Model& model, const KeyValue& value) {
  model.hooks[std::string(key.name)] = std::get<std::string>(value);
}

constexpr KeyKind kTensors = KeyKind::tensors, kFunction = KeyKind::function,
                  kTraining = KeyKind::training;

template <auto kMember>
constexpr ModelKey member_key(KeyKind kind, std::string_view table, std::string_view name,
                              KeyRange range, std::string_view meaning,
                              Presence presence = Presence::optional,
                              std::span<const KeyCondition> conditions = {},
                              std::span<const KindWhere> other_kinds = {}) {
  return {.name = name,
          .table = table,
          .kind = kind,
          .meaning = meaning,
          .range = range,
          .get = Member<kMember>::get,
          .set = Member<kMember>::set,
          .presence = presence,
          .conditions = conditions,
          .other_kinds = other_kinds};
}

template <auto kMember, auto kInForce>
constexpr ModelKey following_key(KeyKind kind, std::string_view table, std::string_view name,
                                 KeyRange range, std::string_view meaning, std::string_view follows,
                                 std::span<const KeyCondition> conditions = {}) {
  using Access = FollowingMember<kMember, kInForce>;
  return {.name = name,
          .table = table,
          .kind = kind,
          .meaning = meaning,
          .range = range,
          .get = Access::get,
          .set = Access::set,
          .default_text = follows,
          .conditions = conditions};
}

constexpr ModelKey hook_key(std::string_view place, std::string_view meaning) {
  return {.name = place,
          .table = "moe.hooks",
          .kind = kFunction,
          .meaning = meaning,
          .range = WordRange{names_in<hooks>},
          .get = hook_at,
          .set = set_hook_at,
          .default_text = "none",
          .other_kinds = kJitterAlone};
}

constexpr Presence kRequired = Presence::required;
constexpr Presence kWithExperts = Presence::required_with_experts;
constexpr Presence kOptional = Presence::optional;

constexpr std::array kFirstKeys{
    ModelKey{.name = "name",
             .table = "",
             .kind = kTraining,
             .meaning = "Name of the model.",
             .range = AnyText{},
             .get = Member<&Model::name>::get,
             .set = Member<&Model::name>::set,
             .default_text = "that of the file"},

    member_key<&Model::vocabulary>(kTensors, "model", "vocabulary", IntegerRange{2, kMostWidth},
                                   "Different tokens; 256 takes text byte by byte."),
    member_key<&Model::sequence_length>(kTensors, "model", "sequence_length",
                                        IntegerRange{1, kMostWidth}, "Tokens of a sequence.",
                                        kRequired, {}, kRowsOfPositions),
    member_key<&Model::d_model>(kTensors, "model", "d_model", IntegerRange{1, kMostWidth},
                                "Width of a token's row between layers.", kRequired),
    member_key<&Model::d_hidden>(kTensors, "model", "d_hidden", IntegerRange{1, kMostWidth},
                                 "Hidden width of a feed-forward network.", kRequired),
    member_key<&Model::heads>(kTensors, "model", "heads", IntegerRange{1, kLargestInt},
                              "Heads of attention.", kRequired),
    following_key<&Model::key_value_heads, key_value_heads>(
        kTensors, "model", "key_value_heads", IntegerRange{1, kLargestInt},
        "Heads of keys and values, a divisor of heads.", "heads"),
    following_key<&Model::head_width, head_width>(
        kTensors, "model", "head_width", IntegerRange{1, kMostWidth},
        "Columns of a head of queries or keys.", "d_model / heads, which is a whole one"),
    member_key<&Model::blocks>(kTensors, "model", "blocks", IntegerRange{1, kMostBlocks},
                               "Transformer blocks.", kRequired),
    member_key<&Model::norm>(kTensors, "model", "norm", WordRange{words_of_enum<Norm>},
                             "Normalisation before attention and before the network."),
    member_key<&Model::norm_epsilon>(kFunction, "model", "norm_epsilon", kAboveZero,
                                     "Added to the variance, or to the mean square, in it."),
    member_key<&Model::query_key_norm>(
        kTensors, "model", "query_key_norm", WordRange{words_of_enum<QueryKeyNorms>},
        "What is normed of queries and keys, by root mean squares: every head, or all of them."),
    member_key<&Model::positions>(
        kTensors, "model", "positions", WordRange{words_of_enum<Positions>},
        "How positions enter: a learned table, or queries and keys turned by angles."),
    member_key<&Model::rotary_base>(kFunction, "model", "rotary_base", kFromOne,
                                    "Base of these angles.", kOptional, kWithRotary),
};

constexpr std::array kOtherKeys{
    member_key<&Model::head>(kTensors, "model", "head", WordRange{words_of_enum<Head>},
                             "Whether logits have a matrix of their own or use the token table."),
    member_key<&Model::shard_vocabulary>(
        kTraining, "model", "shard_vocabulary", TrueOrFalse{},
        "Whether ranks of tp cut the token table, the head and the loss by vocabulary."),
    member_key<&Model::biases>(kTensors, "model", "biases", TrueOrFalse{},
                               "Biases in attention, and in networks that can have them."),
    own_model_key(
        kTensors, "attention_biases", WordRange{names_of_attention_biases},
        [](const Model& model) -> KeyValue { return std::string(model.biases ? "all" : "none"); },
        "Biases of attention: of queries, keys, values and output; without the output; or none.",
        "\"all\" with biases, else \"none\""),

    block_keys::kPattern,
    member_key<&Model::dense_blocks>(kTensors, "moe", "dense_blocks", IntegerRange{0, kMostBlocks},
                                     "First blocks, which have no experts.", kOptional,
                                     block_keys::kWithoutPattern),
    member_key<&Model::moe_every>(kTensors, "moe", "moe_every", IntegerRange{0, kLargestInt},
                                  "One in this many of the other blocks has experts; 0: none has.",
                                  kOptional, block_keys::kWithoutPattern),
    member_key<&Model::experts>(kTensors, "moe", "experts", IntegerRange{1, kMostExperts},
                                "Experts of a MoE layer.", kWithExperts),
    member_key<&Model::choices>(kFunction, "moe", "choices", IntegerRange{1, kMostExperts},
                                "Experts that a token gets: k of top-k.", kWithExperts, {},
                                kWithSlots),
    member_key<&Model::gate>(kTensors, "moe", "gate", WordRange{names_in<gates>},
                             "How tokens choose their experts."),
    member_key<&Model::gate_bias>(kTensors, "moe", "gate_bias", TrueOrFalse{},
                                  "Whether the logits of the gate have biases.", kOptional,
                                  kWithOneMatrix),
    member_key<&Model::expert_groups>(
        kFunction, "moe", "expert_groups", IntegerRange{1, kMostExperts},
        "Equal groups of experts that follow one another; a token's are of the best groups.",
        kOptional, kWithScores),
    following_key<&Model::best_groups, best_groups>(
        kFunction, "moe", "best_groups", IntegerRange{1, kMostExperts}, "How many groups that are.",
        "expert_groups", kWithScores),
    following_key<&Model::group_experts_counted, group_experts_counted>(
        kFunction, "moe", "group_experts_counted", IntegerRange{1, kMostExperts},
        "The best experts of a group whose scores are added up to that of the group.",
        "2 with gate = \"bias_adjusted\", else 1", kWithScores),
    following_key<&Model::normalize_weights, normalizes_weights>(
        kFunction, "moe", "normalize_weights", TrueOrFalse{},
        "Whether the weights of a token's experts are their scores over the sum of them.",
        "choices > 1", kWithScores),
    member_key<&Model::weight_factor>(kFunction, "moe", "weight_factor", kAboveZero,
                                      "Factor of these weights.", kOptional, kWithScores),
    member_key<&Model::order>(kTraining, "moe", "order", WordRange{names_in<orders>},
                              "How rows are brought into the order of their experts, and back."),
    member_key<&Model::expert>(kTensors, "moe", "expert", WordRange{names_in<experts>},
                               "Network of experts, shared experts and dense blocks."),
    member_key<&Model::activation>(kFunction, "moe", "activation",
                                   WordRange{words_of_enum<Activation>},
                                   "Activation of that network.", kOptional, kWithChosenActivation),
    following_key<&Model::d_expert, expert_hidden>(kTensors, "moe", "d_expert",
                                                   IntegerRange{1, kMostWidth},
                                                   "Hidden width of an expert.", "d_hidden"),
    member_key<&Model::shared_experts>(kTensors, "moe", "shared_experts", IntegerRange{0, 1 << 10},
                                       "Experts that every token passes besides its own."),
    member_key<&Model::shared_expert_gate>(
        kTensors, "moe", "shared_expert_gate", TrueOrFalse{},
        "Whether a sigmoid of the token weighs what they compute.", kOptional, kWithSharedExperts),

    // By name, as JSON has them.
    hook_key("after_combine", "Changes rows that came back from the experts."),
    hook_key("after_dispatch", "Changes rows that arrived for the experts."),
    hook_key("before_combine", "Changes rows that the experts return."),
    hook_key("before_dispatch", "Changes rows before they are sent."),
    hook_key("before_moe_end", "Changes the output of the MoE layer."),
    hook_key("before_moe_start", "Changes the input of the MoE layer."),

    ModelKey{.name = "capacity_factor",
             .table = "moe",
             .kind = kFunction,
             .meaning = "Rows that an expert takes, as a multiple of its even share.",
             .range = or_word(kAboveZero, "dropless"),
             .get = OptionalNumber<&Model::capacity_factor>::get,
             .set = OptionalNumber<&Model::capacity_factor>::set,
             .other_kinds = kWithSlots},
    member_key<&Model::capacity_groups>(
        kFunction, "moe", "capacity_groups", IntegerRange{0, kLargestInt},
        "Equal groups of the global batch, each with capacities of its own, or balanced by itself; "
        "0: one for each rank and micro-batch.",
        kOptional, kGroupsWithCapacity, kWithSlots),
    member_key<&Model::drop>(kFunction, "moe", "drop", WordRange{words_of_enum<Drop>},
                             "Order in which rows reach their experts: the last are dropped.",
                             kOptional, kDropWithCapacity),
    member_key<&Model::exchange>(kTraining, "moe", "exchange",
                                 WordRange{words_of_enum<ExchangedRows>},
                                 "Rows that are sent: those with a token, or as many as there is "
                                 "capacity for, with zeros in between.",
                                 kOptional, kPaddedWithCapacity),
    member_key<&Model::weight_gradients>(
        kTraining, "moe", "weight_gradients", WordRange{words_of_enum<WeightGradientTime>},
        "When gradients of experts' weights are computed: while gradients of their inputs travel "
        "back, or before."),
    member_key<&Model::auxiliary_weight>(kTraining, "moe", "auxiliary_weight", kFromZero,
                                         "Weight of the load-balancing loss.", kOptional,
                                         kWithBalance),
    member_key<&Model::z_loss_weight>(kTraining, "moe", "z_loss_weight", kFromZero,
                                      "Weight of the router z-loss.", kOptional, kWithZLoss),

    member_key<&Model::global_batch>(
        kTraining, "training", "global_batch", IntegerRange{1, kMostWidth},
        "Sequences of an iteration, on all ranks together.", kRequired, {}, kWithSlots),
    member_key<&Model::batch_per>(
        kTraining, "training", "batch_per", WordRange{words_of_enum<BatchPer>},
        "Who has whole sequences: every rank, or the ranks of tp together."),
    member_key<&Model::micro_batches>(
        kTraining, "training", "micro_batches", IntegerRange{1, kMostMicroBatches},
        "Equal parts of the global batch, whose gradients are added up."),
    member_key<&Model::dtype>(kTensors, "training", "precision", WordRange{words_of_enum<DType>},
                              "Format of parameters, activations and rows that are sent; with "
                              "bf16, sums, gradients of parameters, what routers compute and "
                              "states of the optimizer are f32."),
    member_key<&Model::optimizer>(kTraining, "training", "optimizer",
                                  WordRange{words_of_enum<Optimizer>},
                                  "How parameters are updated."),
    member_key<&Model::learning_rate>(kTraining, "training", "learning_rate", kAboveZero,
                                      "Step of the optimizer, at its largest."),
    member_key<&Model::warmup_steps>(
        kTraining, "training", "warmup_steps", IntegerRange{0, kLargestInt},
        "Iterations in which the learning rate rises in proportion to their number."),
    member_key<&Model::learning_rate_schedule>(
        kTraining, "training", "learning_rate_schedule", WordRange{words_of_enum<RateSchedule>},
        "How it falls after the warm-up; linear and cosine need decay_steps."),
    member_key<&Model::decay_steps>(
        kTraining, "training", "decay_steps", IntegerRange{0, kLargestInt},
        "Iteration from which on it is at its least; 0: it has no such end.", kOptional, kWithEnd),
    member_key<&Model::least_learning_rate>(kTraining, "training", "least_learning_rate", kFromZero,
                                            "Learning rate that it does not fall below.", kOptional,
                                            kWithFallingRate),
    member_key<&Model::beta1>(kTraining, "training", "beta1", kFromZeroToBelowOne,
                              "Share of the mean gradient that an iteration keeps.", kOptional,
                              kWithAdam),
    member_key<&Model::beta2>(kTraining, "training", "beta2", kFromZeroToBelowOne,
                              "Share of the mean squared gradient that it keeps.", kOptional,
                              kWithAdam),
    member_key<&Model::epsilon>(kTraining, "training", "epsilon", kAboveZero,
                                "Added to the root that a step is divided by.", kOptional,
                                kWithAdam),
    following_key<&Model::weight_decay, weight_decay>(
        kTraining, "training", "weight_decay", kFromZero,
        "Decay of matrices; biases and norms do not decay. Decoupled in adamw, added to the "
        "gradient in sgd.",
        "0.1 with \"adamw\", else 0", kWithDecay),
    member_key<&Model::momentum>(kTraining, "training", "momentum", kFromZeroToBelowOne,
                                 "Share of the last update that the next one keeps.", kOptional,
                                 kWithSgd),
    member_key<&Model::nesterov>(kTraining, "training", "nesterov", TrueOrFalse{},
                                 "Whether the step looks ahead along it.", kOptional, kWithSgd),
    ModelKey{.name = "clip_norm",
             .table = "training",
             .kind = kTraining,
             .meaning = "Largest norm of all gradients together: larger ones are scaled to it.",
             .range = or_word(kAboveZero, "none"),
             .get = OptionalNumber<&Model::clip_norm>::get,
             .set = OptionalNumber<&Model::clip_norm>::set},
    ModelKey{.name = "outlier_z_score",
             .table = "training",
             .kind = kTraining,
             .meaning = "An iteration makes no update if its loss, or with clip_norm its norm of "
                        "gradients, has a larger z-score among the last iterations.",
             .range = or_word(kAboveZero, "none"),
             .get = OptionalNumber<&Model::outlier_z_score>::get,
             .set = OptionalNumber<&Model::outlier_z_score>::set},
    member_key<&Model::outlier_window>(
        kTraining, "training", "outlier_window", IntegerRange{2, 1 << 20},
        "How many last iterations are looked at.", kOptional, kWithOutliers),
    member_key<&Model::seed>(kTraining, "training", "seed", IntegerRange{0},
                             "Seed of parameters, batches and draws.", kOptional, {}, kSeedOfGate),
};

constexpr auto kKeys = joined(kFirstKeys, rotary_keys::kKeys, attention_keys::kKeys,
                              latent_keys::kKeys, residual_keys::kKeys, kOtherKeys);

}  // namespace

std::span<const ModelKey> common_keys() { return kKeys; }

}  // namespace moe
