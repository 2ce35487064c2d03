#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/key_words.h"
#include "moe/model/model_key.h"

/// What common_keys.cpp says of keys that depend on others: where they have a use, and where they
/// are of another kind.
namespace moe {

inline std::string quoted_choice(std::string_view key, std::string_view value) {
  return fmt::format("{} = \"{}\"", key, value);
}

inline constexpr std::array kWithRotary{KeyCondition{
    "positions", "positions = \"rotary\"", [](const Model& model, const KeyValue&) -> std::string {
      if (model.positions == Positions::rotary) return "";
      return "positions = \"learned\" turn nothing: expected no rotary_base, or positions = "
             "\"rotary\"";
    }}};

/// Says that the optimizer has no such key, and which have.
inline std::string refuse_of_optimizer(const Model& model, bool has, std::string_view others) {
  if (has) return "";
  return fmt::format(
      "{} has none; {} does",
      quoted_choice("optimizer", kWordsOf<Optimizer>[static_cast<std::size_t>(model.optimizer)]),
      others);
}

inline constexpr std::array kWithSgd{KeyCondition{
    "optimizer", "optimizer = \"sgd\"", [](const Model& model, const KeyValue&) -> std::string {
      return refuse_of_optimizer(model, model.optimizer == Optimizer::sgd, "optimizer = \"sgd\"");
    }}};
inline constexpr std::array kWithAdam{
    KeyCondition{"optimizer", "optimizer = \"adam\" or \"adamw\"",
                 [](const Model& model, const KeyValue&) -> std::string {
                   return refuse_of_optimizer(model, model.optimizer != Optimizer::sgd,
                                              "optimizer = \"adam\" or \"adamw\"");
                 }}};
inline constexpr std::array kWithDecay{KeyCondition{
    "optimizer", "optimizer = \"adamw\" or \"sgd\"",
    [](const Model& model, const KeyValue& decay) -> std::string {
      return refuse_of_optimizer(model,
                                 model.optimizer != Optimizer::adam || decay == KeyValue(0.0),
                                 "optimizer = \"adamw\" or \"sgd\"");
    }}};

inline std::string quoted_schedule(const Model& model) {
  return quoted_choice(
      "learning_rate_schedule",
      kWordsOf<RateSchedule>[static_cast<std::size_t>(model.learning_rate_schedule)]);
}

inline constexpr std::array kWithEnd{
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

inline constexpr std::array kWithFallingRate{
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

inline constexpr std::array kWithOutliers{
    KeyCondition{"outlier_z_score", "an outlier_z_score",
                 [](const Model& model, const KeyValue&) -> std::string {
                   if (model.outlier_z_score) return "";
                   return "no iteration is an outlier: expected an outlier_z_score beside it, or "
                          "no such key";
                 }}};

inline constexpr std::array kWithChosenActivation{KeyCondition{
    "expert", "expert = \"gpt\"", [](const Model& model, const KeyValue&) -> std::string {
      if (expert_named(model.expert).facts.chooses_activation) return "";
      return quoted_choice("expert", model.expert) +
             " has an activation of its own: expected no such key";
    }}};

inline constexpr std::array kWithOneMatrix{KeyCondition{
    "gate", "a gate of one matrix", [](const Model& model, const KeyValue& value) -> std::string {
      const Gate& gate = gate_named(model.gate);
      if (value == KeyValue(false)) return "";
      if (gate.facts.scores_tokens && gate.size == nullptr) return "";
      return quoted_choice("gate", model.gate) +
             " has not just one matrix for its logits: expected no such key";
    }}};

inline constexpr std::array kWithScores{KeyCondition{
    "gate", "a gate that weighs by scores", [](const Model& model, const KeyValue&) -> std::string {
      const GateFacts& facts = gate_named(model.gate).facts;
      if (facts.scores_tokens && facts.chooser == Chooser::token) return "";
      return quoted_choice("gate", model.gate) +
             " does not weigh choices by scores: expected no such key";
    }}};

inline constexpr std::array kWithSharedExperts{
    KeyCondition{"shared_experts", "shared_experts",
                 [](const Model& model, const KeyValue& value) -> std::string {
                   if (model.shared_experts > 0 || value == KeyValue(false)) return "";
                   return "there is no shared expert: expected shared_experts beside it, or no "
                          "such key";
                 }}};

inline std::string refuse_without_capacity(const Model& model) {
  if (model.capacity_factor) return "";
  return "a dropless model drops nothing: expected a capacity_factor beside it, or no such key";
}

inline constexpr std::array kGroupsWithCapacity{
    KeyCondition{"capacity_factor", "a capacity_factor or gate = \"sinkhorn\"",
                 [](const Model& model, const KeyValue& groups) -> std::string {
                   if (groups == KeyValue(std::int64_t{0})) return "";
                   if (gate_named(model.gate).facts.ranks_groups) return "";
                   return refuse_without_capacity(model);
                 }}};

inline std::string refuse_drop_of_gate(const Model& model, const KeyValue& value) {
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

inline constexpr std::array kDropWithCapacity{
    KeyCondition{"gate", "a gate that drops", refuse_drop_of_gate},
    KeyCondition{"capacity_factor", "a capacity_factor",
                 [](const Model& model, const KeyValue&) -> std::string {
                   return refuse_without_capacity(model);
                 }}};

inline constexpr std::array kPaddedWithCapacity{
    KeyCondition{"capacity_factor", "a capacity_factor where padded",
                 [](const Model& model, const KeyValue& exchange) -> std::string {
                   if (model.capacity_factor || exchange != KeyValue(std::string("padded"))) {
                     return "";
                   }
                   return "a dropless model has no capacity that rows could be padded to: expected "
                          "a capacity_factor beside it, or \"irregular\"";
                 }}};

/// The weight of a loss that the gate does not have. 0 is legal with every gate.
inline std::string refuse_weight(const Model& model, const KeyValue& weight, bool has_loss,
                                 std::string_view loss, std::string_view key) {
  if (has_loss || weight == KeyValue(0.0)) return "";
  return fmt::format("{} has no {}: expected 0 or no {}", quoted_choice("gate", model.gate), loss,
                     key);
}

inline constexpr std::array kWithBalance{
    KeyCondition{"gate", "a gate that has this loss",
                 [](const Model& model, const KeyValue& weight) -> std::string {
                   return refuse_weight(model, weight, gate_named(model.gate).facts.balances,
                                        "load-balancing loss", "auxiliary_weight");
                 }}};
inline constexpr std::array kWithZLoss{
    KeyCondition{"gate", "a gate that has this loss",
                 [](const Model& model, const KeyValue& weight) -> std::string {
                   return refuse_weight(model, weight, gate_named(model.gate).facts.scores_tokens,
                                        "router z-loss", "z_loss_weight");
                 }}};

/// True for a gate whose matrix has a column for each slot: the more tokens a group has, the more.
inline bool shapes_slots(const Model& model) {
  return gate_named(model.gate).facts.chooser == Chooser::nobody;
}

inline constexpr std::array kWithSlots{
    KindWhere{KeyKind::tensors, "gate = \"soft_moe\"",
              [](const ModelKey&, const Model& model) { return shapes_slots(model); }}};
inline constexpr std::array kRowsOfPositions{
    KindWhere{KeyKind::training, "positions = \"rotary\" and not soft_moe",
              [](const ModelKey&, const Model& model) {
                return model.positions == Positions::rotary && !shapes_slots(model);
              }}};
inline constexpr std::array kSeedOfGate{
    KindWhere{KeyKind::function, "gate = \"hash\"", [](const ModelKey&, const Model& model) {
                return gate_named(model.gate).facts.is_drawn_once;
              }}};
/// Held-out losses do without jitter.
inline constexpr std::array kJitterAlone{
    KindWhere{KeyKind::training, "\"jitter\"", [](const ModelKey& key, const Model& model) {
                const KeyValue hook = key.get(key, model);
                return hook == KeyValue(std::string()) || hook == KeyValue(std::string("jitter"));
              }}};

}  // namespace moe
