#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/hooks/hooks.h"
#include "moe/model/limits.h"
#include "moe/model/model_key.h"
#include "moe/model/orders/orders.h"

namespace moe {
namespace {

constexpr std::int64_t kLargestInt = std::numeric_limits<int>::max();

/// The names of the values of an enumeration in model files, in its order.
template <class Enum>
constexpr std::array<std::string_view, 0> kWordsOf{};
template <>
constexpr std::array<std::string_view, 3> kWordsOf<Optimizer>{"adam", "adamw", "sgd"};
template <>
constexpr std::array<std::string_view, 4> kWordsOf<RateSchedule>{"constant", "linear", "cosine",
                                                                 "inverse_square_root"};
template <>
constexpr std::array<std::string_view, 3> kWordsOf<DType>{"f32", "f64", "bf16"};
template <>
constexpr std::array<std::string_view, 2> kWordsOf<Norm>{"layer_norm", "rms_norm"};
template <>
constexpr std::array<std::string_view, 2> kWordsOf<Positions>{"learned", "rotary"};
template <>
constexpr std::array<std::string_view, 2> kWordsOf<Head>{"untied", "tied"};
template <>
constexpr std::array<std::string_view, 2> kWordsOf<Activation>{"gelu", "relu"};
template <>
constexpr std::array<std::string_view, 2> kWordsOf<BatchPer>{"rank", "tp_group"};
template <>
constexpr std::array<std::string_view, 2> kWordsOf<ExchangedRows>{"irregular", "padded"};
template <>
constexpr std::array<std::string_view, 2> kWordsOf<WeightGradientTime>{"beside_return",
                                                                       "before_return"};
template <>
constexpr std::array<std::string_view, 3> kWordsOf<Drop>{kDropNames};

template <class Enum>
std::vector<std::string_view> words_of_enum() {
  return {kWordsOf<Enum>.begin(), kWordsOf<Enum>.end()};
}

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
  using InFile = std::conditional_t<std::is_floating_point_v<Type>, double, std::int64_t>;

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

std::string quoted_choice(std::string_view key, std::string_view value) {
  return fmt::format("{} = \"{}\"", key, value);
}

constexpr std::array kWithRotary{KeyCondition{
    "positions", "positions = \"rotary\"", [](const Model& model, const KeyValue&) -> std::string {
      if (model.positions == Positions::rotary) return "";
      return "positions = \"learned\" turn nothing: expected no rotary_base, or positions = "
             "\"rotary\"";
    }}};

/// Says that the optimizer has no such key, and which have.
std::string refuse_of_optimizer(const Model& model, bool has, std::string_view others) {
  if (has) return "";
  return fmt::format(
      "{} has none; {} does",
      quoted_choice("optimizer", kWordsOf<Optimizer>[static_cast<std::size_t>(model.optimizer)]),
      others);
}

constexpr std::array kWithSgd{KeyCondition{
    "optimizer", "optimizer = \"sgd\"", [](const Model& model, const KeyValue&) -> std::string {
      return refuse_of_optimizer(model, model.optimizer == Optimizer::sgd, "optimizer = \"sgd\"");
    }}};
constexpr std::array kWithAdam{KeyCondition{"optimizer", "optimizer = \"adam\" or \"adamw\"",
                                            [](const Model& model, const KeyValue&) -> std::string {
                                              return refuse_of_optimizer(
                                                  model, model.optimizer != Optimizer::sgd,
                                                  "optimizer = \"adam\" or \"adamw\"");
                                            }}};
constexpr std::array kWithDecay{KeyCondition{
    "optimizer", "optimizer = \"adamw\" or \"sgd\"",
    [](const Model& model, const KeyValue& decay) -> std::string {
      return refuse_of_optimizer(model,
                                 model.optimizer != Optimizer::adam || decay == KeyValue(0.0),
                                 "optimizer = \"adamw\" or \"sgd\"");
    }}};

std::string quoted_schedule(const Model& model) {
  return quoted_choice(
      "learning_rate_schedule",
      kWordsOf<RateSchedule>[static_cast<std::size_t>(model.learning_rate_schedule)]);
}

constexpr std::array kWithEnd{
    KeyCondition{"learning_rate_schedule", "learning_rate_schedule = \"linear\" or \"cosine\"",
                 [](const Model& model, const KeyValue& steps) -> std::string {
                   if (std::get<std::int64_t>(steps) == 0 || falls_to_an_end(model)) return "";
                   return fmt::format("{} has no such end; \"linear\" and \"cosine\" have",
                                      quoted_schedule(model));
                 }},
    KeyCondition{"warmup_steps", "fewer warmup_steps",
                 [](const Model& model, const KeyValue& steps) -> std::string {
                   const auto last = std::get<std::int64_t>(steps);
                   if (last == 0 || last > model.warmup_steps) return "";
                   return fmt::format("expected more than warmup_steps = {}, got {}",
                                      model.warmup_steps, last);
                 }}};

constexpr std::array kWithFallingRate{
    KeyCondition{"learning_rate_schedule",
                 "learning_rate_schedule = \"linear\", \"cosine\" or \"inverse_square_root\"",
                 [](const Model& model, const KeyValue& least) -> std::string {
                   if (least == KeyValue(0.0)) return "";
                   if (model.learning_rate_schedule != RateSchedule::constant) return "";
                   return fmt::format(
                       "{} does not fall; \"linear\", \"cosine\" and \"inverse_square_root\" do",
                       quoted_schedule(model));
                 }},
    KeyCondition{"learning_rate", "no smaller learning_rate",
                 [](const Model& model, const KeyValue& least) -> std::string {
                   const auto number = std::get<double>(least);
                   if (number <= model.learning_rate) return "";
                   return fmt::format("expected at most learning_rate = {}, got {}",
                                      model.learning_rate, number);
                 }}};

constexpr std::array kWithOutliers{
    KeyCondition{"outlier_z_score", "an outlier_z_score",
                 [](const Model& model, const KeyValue&) -> std::string {
                   if (model.outlier_z_score) return "";
                   return "no iteration is an outlier: expected an outlier_z_score beside it, or "
                          "no such key";
                 }}};

constexpr std::array kWithChosenActivation{KeyCondition{
    "expert", "expert = \"gpt\"", [](const Model& model, const KeyValue&) -> std::string {
      if (expert_named(model.expert).facts.chooses_activation) return "";
      return quoted_choice("expert", model.expert) +
             " has an activation of its own: expected no such key";
    }}};

std::string refuse_without_capacity(const Model& model) {
  if (model.capacity_factor) return "";
  return "a dropless model drops nothing: expected a capacity_factor beside it, or no such key";
}

constexpr std::array kGroupsWithCapacity{
    KeyCondition{"capacity_factor", "a capacity_factor",
                 [](const Model& model, const KeyValue& groups) -> std::string {
                   if (groups == KeyValue(std::int64_t{0})) return "";
                   return refuse_without_capacity(model);
                 }}};

std::string refuse_drop_of_gate(const Model& model, const KeyValue& value) {
  const GateFacts facts = gate_named(model.gate).facts;
  const std::string& drop = std::get<std::string>(value);
  const std::string gate = quoted_choice("gate", model.gate);
  if (takes_whole_groups(facts.chooser)) return gate + " fills every expert: expected no drop";
  if (facts.drop && drop != drop_name(*facts.drop)) {
    return fmt::format("{} drops by {}: expected that or no drop", gate, drop_name(*facts.drop));
  }
  if (drop == drop_name(Drop::probability) && !facts.scores_tokens) {
    return gate + " does not rank tokens: expected \"choice\" or \"position\"";
  }
  return "";
}

constexpr std::array kDropWithCapacity{
    KeyCondition{"gate", "a gate that drops", refuse_drop_of_gate},
    KeyCondition{"capacity_factor", "a capacity_factor",
                 [](const Model& model, const KeyValue&) -> std::string {
                   return refuse_without_capacity(model);
                 }}};

constexpr std::array kPaddedWithCapacity{
    KeyCondition{"capacity_factor", "a capacity_factor where padded",
                 [](const Model& model, const KeyValue& exchange) -> std::string {
                   if (model.capacity_factor || exchange != KeyValue(std::string("padded"))) {
                     return "";
                   }
                   return "a dropless model has no capacity that rows could be padded to: expected "
                          "a capacity_factor beside it, or \"irregular\"";
                 }}};

/// The weight of a loss that the gate does not have. 0 is legal with every gate.
std::string refuse_weight(const Model& model, const KeyValue& weight, bool has_loss,
                          std::string_view loss, std::string_view key) {
  if (has_loss || weight == KeyValue(0.0)) return "";
  return fmt::format("{} has no {}: expected 0 or no {}", quoted_choice("gate", model.gate), loss,
                     key);
}

constexpr std::array kWithBalance{
    KeyCondition{"gate", "a gate that has this loss",
                 [](const Model& model, const KeyValue& weight) -> std::string {
                   return refuse_weight(model, weight, gate_named(model.gate).facts.balances,
                                        "load-balancing loss", "auxiliary_weight");
                 }}};
constexpr std::array kWithZLoss{
    KeyCondition{"gate", "a gate that has this loss",
                 [](const Model& model, const KeyValue& weight) -> std::string {
                   return refuse_weight(model, weight, gate_named(model.gate).facts.scores_tokens,
                                        "router z-loss", "z_loss_weight");
                 }}};

template <auto kMember>
constexpr ModelKey member_key(std::string_view table, std::string_view name, KeyRange range,
                              std::string_view meaning, Presence presence = Presence::optional,
                              std::span<const KeyCondition> conditions = {}) {
  return {.name = name,
          .table = table,
          .meaning = meaning,
          .range = range,
          .get = Member<kMember>::get,
          .set = Member<kMember>::set,
          .presence = presence,
          .conditions = conditions};
}

template <auto kMember, auto kInForce>
constexpr ModelKey following_key(std::string_view table, std::string_view name, KeyRange range,
                                 std::string_view meaning, std::string_view follows,
                                 std::span<const KeyCondition> conditions = {}) {
  using Access = FollowingMember<kMember, kInForce>;
  return {.name = name,
          .table = table,
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
          .meaning = meaning,
          .range = WordRange{names_in<hooks>},
          .get = hook_at,
          .set = set_hook_at,
          .default_text = "none"};
}

constexpr Presence kRequired = Presence::required;
constexpr Presence kWithExperts = Presence::required_with_experts;
constexpr Presence kOptional = Presence::optional;

constexpr std::array kKeys{
    ModelKey{.name = "name",
             .table = "",
             .meaning = "Name of the model.",
             .range = AnyText{},
             .get = Member<&Model::name>::get,
             .set = Member<&Model::name>::set,
             .default_text = "that of the file"},

    member_key<&Model::vocabulary>("model", "vocabulary", IntegerRange{2, kMostWidth},
                                   "Different tokens; 256 takes text byte by byte."),
    member_key<&Model::sequence_length>("model", "sequence_length", IntegerRange{1, kMostWidth},
                                        "Tokens of a sequence.", kRequired),
    member_key<&Model::d_model>("model", "d_model", IntegerRange{1, kMostWidth},
                                "Width of a token's row between layers.", kRequired),
    member_key<&Model::d_hidden>("model", "d_hidden", IntegerRange{1, kMostWidth},
                                 "Hidden width of a feed-forward network.", kRequired),
    member_key<&Model::heads>("model", "heads", IntegerRange{1, kLargestInt},
                              "Heads of attention, a divisor of d_model.", kRequired),
    following_key<&Model::key_value_heads, key_value_heads>(
        "model", "key_value_heads", IntegerRange{1, kLargestInt},
        "Heads of keys and values, a divisor of heads.", "heads"),
    member_key<&Model::blocks>("model", "blocks", IntegerRange{1, kMostBlocks},
                               "Transformer blocks.", kRequired),
    member_key<&Model::norm>("model", "norm", WordRange{words_of_enum<Norm>},
                             "Normalisation before attention and before the network."),
    member_key<&Model::norm_epsilon>("model", "norm_epsilon", kAboveZero,
                                     "Added to the variance, or to the mean square, in it."),
    member_key<&Model::positions>(
        "model", "positions", WordRange{words_of_enum<Positions>},
        "How positions enter: a learned table, or queries and keys turned by angles."),
    member_key<&Model::rotary_base>("model", "rotary_base", kFromOne, "Base of these angles.",
                                    kOptional, kWithRotary),
    member_key<&Model::head>("model", "head", WordRange{words_of_enum<Head>},
                             "Whether logits have a matrix of their own or use the token table."),
    member_key<&Model::shard_vocabulary>(
        "model", "shard_vocabulary", TrueOrFalse{},
        "Whether ranks of tp cut the token table, the head and the loss by vocabulary."),
    member_key<&Model::biases>("model", "biases", TrueOrFalse{},
                               "Biases in attention, and in networks that can have them."),

    member_key<&Model::dense_blocks>("moe", "dense_blocks", IntegerRange{0, kMostBlocks},
                                     "First blocks, which have no experts."),
    member_key<&Model::moe_every>("moe", "moe_every", IntegerRange{0, kLargestInt},
                                  "One in this many of the other blocks has experts; 0: none has."),
    member_key<&Model::experts>("moe", "experts", IntegerRange{1, kMostExperts},
                                "Experts of a MoE layer.", kWithExperts),
    member_key<&Model::choices>("moe", "choices", IntegerRange{1, kMostExperts},
                                "Experts that a token gets: k of top-k.", kWithExperts),
    member_key<&Model::gate>("moe", "gate", WordRange{names_in<gates>},
                             "How tokens choose their experts."),
    member_key<&Model::order>("moe", "order", WordRange{names_in<orders>},
                              "How rows are brought into the order of their experts, and back."),
    member_key<&Model::expert>("moe", "expert", WordRange{names_in<experts>},
                               "Network of experts, shared experts and dense blocks."),
    member_key<&Model::activation>("moe", "activation", WordRange{words_of_enum<Activation>},
                                   "Activation of that network.", kOptional, kWithChosenActivation),
    following_key<&Model::d_expert, expert_hidden>("moe", "d_expert", IntegerRange{1, kMostWidth},
                                                   "Hidden width of an expert.", "d_hidden"),
    member_key<&Model::shared_experts>("moe", "shared_experts", IntegerRange{0, 1 << 10},
                                       "Experts that every token passes besides its own."),

    // By name, as JSON has them.
    hook_key("after_combine", "Changes rows that came back from the experts."),
    hook_key("after_dispatch", "Changes rows that arrived for the experts."),
    hook_key("before_combine", "Changes rows that the experts return."),
    hook_key("before_dispatch", "Changes rows before they are sent."),
    hook_key("before_moe_end", "Changes the output of the MoE layer."),
    hook_key("before_moe_start", "Changes the input of the MoE layer."),

    ModelKey{.name = "capacity_factor",
             .table = "moe",
             .meaning = "Rows that an expert takes, as a multiple of its even share.",
             .range = or_word(kAboveZero, "dropless"),
             .get = OptionalNumber<&Model::capacity_factor>::get,
             .set = OptionalNumber<&Model::capacity_factor>::set},
    member_key<&Model::capacity_groups>(
        "moe", "capacity_groups", IntegerRange{0, kLargestInt},
        "Equal groups of the global batch, each with capacities of its own; 0: one for each rank "
        "and micro-batch.",
        kOptional, kGroupsWithCapacity),
    member_key<&Model::drop>("moe", "drop", WordRange{words_of_enum<Drop>},
                             "Order in which rows reach their experts: the last are dropped.",
                             kOptional, kDropWithCapacity),
    member_key<&Model::exchange>("moe", "exchange", WordRange{words_of_enum<ExchangedRows>},
                                 "Rows that are sent: those with a token, or as many as there is "
                                 "capacity for, with zeros in between.",
                                 kOptional, kPaddedWithCapacity),
    member_key<&Model::weight_gradients>(
        "moe", "weight_gradients", WordRange{words_of_enum<WeightGradientTime>},
        "When gradients of experts' weights are computed: while gradients of their inputs travel "
        "back, or before."),
    member_key<&Model::auxiliary_weight>("moe", "auxiliary_weight", kFromZero,
                                         "Weight of the load-balancing loss.", kOptional,
                                         kWithBalance),
    member_key<&Model::z_loss_weight>("moe", "z_loss_weight", kFromZero,
                                      "Weight of the router z-loss.", kOptional, kWithZLoss),

    member_key<&Model::global_batch>("training", "global_batch", IntegerRange{1, kMostWidth},
                                     "Sequences of an iteration, on all ranks together.",
                                     kRequired),
    member_key<&Model::batch_per>(
        "training", "batch_per", WordRange{words_of_enum<BatchPer>},
        "Who has whole sequences: every rank, or the ranks of tp together."),
    member_key<&Model::micro_batches>(
        "training", "micro_batches", IntegerRange{1, kMostMicroBatches},
        "Equal parts of the global batch, whose gradients are added up."),
    member_key<&Model::dtype>("training", "precision", WordRange{words_of_enum<DType>},
                              "Format of parameters, activations and rows that are sent; with "
                              "bf16, sums, gradients of parameters, what routers compute and "
                              "states of the optimizer are f32."),
    member_key<&Model::optimizer>("training", "optimizer", WordRange{words_of_enum<Optimizer>},
                                  "How parameters are updated."),
    member_key<&Model::learning_rate>("training", "learning_rate", kAboveZero,
                                      "Step of the optimizer, at its largest."),
    member_key<&Model::warmup_steps>(
        "training", "warmup_steps", IntegerRange{0, kLargestInt},
        "Iterations in which the learning rate rises in proportion to their number."),
    member_key<&Model::learning_rate_schedule>(
        "training", "learning_rate_schedule", WordRange{words_of_enum<RateSchedule>},
        "How it falls after the warm-up; linear and cosine need decay_steps."),
    member_key<&Model::decay_steps>(
        "training", "decay_steps", IntegerRange{0, kLargestInt},
        "Iteration from which on it is at its least; 0: it has no such end.", kOptional, kWithEnd),
    member_key<&Model::least_learning_rate>("training", "least_learning_rate", kFromZero,
                                            "Learning rate that it does not fall below.", kOptional,
                                            kWithFallingRate),
    member_key<&Model::beta1>("training", "beta1", kFromZeroToBelowOne,
                              "Share of the mean gradient that an iteration keeps.", kOptional,
                              kWithAdam),
    member_key<&Model::beta2>("training", "beta2", kFromZeroToBelowOne,
                              "Share of the mean squared gradient that it keeps.", kOptional,
                              kWithAdam),
    member_key<&Model::epsilon>("training", "epsilon", kAboveZero,
                                "Added to the root that a step is divided by.", kOptional,
                                kWithAdam),
    following_key<&Model::weight_decay, weight_decay>(
        "training", "weight_decay", kFromZero,
        "Decay of matrices; biases and norms do not decay. Decoupled in adamw, added to the "
        "gradient in sgd.",
        "0.1 with \"adamw\", else 0", kWithDecay),
    member_key<&Model::momentum>("training", "momentum", kFromZeroToBelowOne,
                                 "Share of the last update that the next one keeps.", kOptional,
                                 kWithSgd),
    member_key<&Model::nesterov>("training", "nesterov", TrueOrFalse{},
                                 "Whether the step looks ahead along it.", kOptional, kWithSgd),
    ModelKey{.name = "clip_norm",
             .table = "training",
             .meaning = "Largest norm of all gradients together: larger ones are scaled to it.",
             .range = or_word(kAboveZero, "none"),
             .get = OptionalNumber<&Model::clip_norm>::get,
             .set = OptionalNumber<&Model::clip_norm>::set},
    ModelKey{.name = "outlier_z_score",
             .table = "training",
             .meaning = "An iteration makes no update if its loss, or with clip_norm its norm of "
                        "gradients, has a larger z-score among the last iterations.",
             .range = or_word(kAboveZero, "none"),
             .get = OptionalNumber<&Model::outlier_z_score>::get,
             .set = OptionalNumber<&Model::outlier_z_score>::set},
    member_key<&Model::outlier_window>("training", "outlier_window", IntegerRange{2, 1 << 20},
                                       "How many last iterations are looked at.", kOptional,
                                       kWithOutliers),
    member_key<&Model::seed>("training", "seed", IntegerRange{0},
                             "Seed of parameters, batches and draws."),
};

}  // namespace

std::span<const ModelKey> common_keys() { return kKeys; }

}  // namespace moe
