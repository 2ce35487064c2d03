#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/toml_base.h"
#include "moe/model/conflict.h"
#include "moe/model/experts/experts.h"
#include "moe/model/gates/gates.h"
#include "moe/model/hooks/hooks.h"
#include "moe/model/limits.h"
#include "moe/model/model.h"
#include "moe/model/model_size.h"
#include "moe/model/orders/orders.h"
#include "moe/source_tree.h"

namespace moe {
namespace {

template <class T>
using Words = std::array<std::pair<std::string_view, T>, 2>;

constexpr Words<Optimizer> kOptimizers{{{"adam", Optimizer::adam}, {"sgd", Optimizer::sgd}}};
constexpr Words<DType> kDTypes{{{"f32", DType::f32}, {"f64", DType::f64}}};
constexpr Words<Norm> kNorms{{{"layer_norm", Norm::layer_norm}, {"rms_norm", Norm::rms_norm}}};
constexpr Words<Positions> kPositions{
    {{"learned", Positions::learned}, {"rotary", Positions::rotary}}};
constexpr Words<Head> kHeads{{{"untied", Head::untied}, {"tied", Head::tied}}};
constexpr Words<Activation> kActivations{{{"gelu", Activation::gelu}, {"relu", Activation::relu}}};

template <class T>
std::string_view word_of(T meaning, const Words<T>& words) {
  return meaning == words[0].second ? words[0].first : words[1].first;
}

template <class T>
void read_word(const InputObject& table, std::string_view key, const Words<T>& words, T& field) {
  if (const auto value = table.optional_member(key)) {
    field = words[value->one_of({words[0].first, words[1].first})].second;
  }
}

template <class T>
void read_integer(const InputObject& table, std::string_view key, std::int64_t least,
                  std::int64_t most, T& field) {
  if (const auto value = table.optional_member(key)) {
    field = static_cast<T>(value->integer(least, most));
  }
}

constexpr double kLeastPositive = std::numeric_limits<double>::min();
constexpr double kFinite = std::numeric_limits<double>::max();
constexpr std::int64_t kInt = std::numeric_limits<int>::max();
constexpr std::string_view kDropless =
    "a dropless model drops nothing: expected a capacity_factor beside it, or no such key";

void read_sizes(const InputObject& table, Model& model) {
  read_integer(table, "vocabulary", 2, kMostWidth, model.vocabulary);
  model.sequence_length = table.integer("sequence_length", 1, kMostWidth);
  model.d_model = table.integer("d_model", 1, kMostWidth);
  model.d_hidden = table.integer("d_hidden", 1, kMostWidth);
  model.heads = static_cast<int>(table.integer("heads", 1, kInt));
  model.blocks = static_cast<int>(table.integer("blocks", 1, kMostBlocks));
  read_word(table, "dtype", kDTypes, model.dtype);
  if (model.d_model % model.heads != 0) {
    table.member("heads").fail(fmt::format("a divisor of d_model = {}", model.d_model));
  }
}

/// A key that only some values of another, `choice`, have a use for; `refusal` says why the one chosen has none, ""
/// where it has. Keys that a file inherits are passed over where it chooses otherwise than its base: with the choice
/// it leaves behind what belonged to it.
std::optional<InputValue> key_of_choice(const InputObject& table, std::string_view key,
                                        std::string_view choice, std::string_view refusal) {
  auto value = table.optional_member(key);
  if (!value || refusal.empty()) return value;
  const auto chosen = table.optional_member(choice);
  if (!chosen || !value->is_below(*chosen)) value->refuse(refusal);
  return std::nullopt;
}

void read_architecture(const InputObject& table, Model& model) {
  if (const auto heads = table.optional_member("key_value_heads")) {
    model.key_value_heads = static_cast<int>(heads->integer(1, kInt));
    if (model.heads % *model.key_value_heads != 0) {
      heads->fail(fmt::format("a divisor of heads = {}", model.heads));
    }
  }
  read_word(table, "norm", kNorms, model.norm);
  read_word(table, "head", kHeads, model.head);
  if (const auto biases = table.optional_member("biases")) model.biases = biases->boolean();
  read_word(table, "positions", kPositions, model.positions);
  if (const auto base = key_of_choice(table, "rotary_base", "positions",
                                      model.positions == Positions::rotary
                                          ? ""
                                          : "positions = \"learned\" turn nothing: expected no "
                                            "rotary_base, or positions = \"rotary\"")) {
    model.rotary_base = base->number(1, kFinite, "a number of at least 1");
  }
  const std::int64_t head_width = model.d_model / model.heads;
  if (model.positions == Positions::rotary && head_width % 2 != 0) {
    table.member("positions")
        .refuse(fmt::format("\"rotary\" turns pairs of columns: expected heads of even width, got "
                            "d_model / heads = {} / {}",
                            model.d_model, model.heads));
  }
}

/// The name of one of `known`, which have names.
template <class Known>
std::string read_name(const InputObject& table, std::string_view key, const Known& known,
                      const std::string& fallback) {
  std::vector<std::string_view> names;
  for (const auto& one : known) names.push_back(one.name);
  const auto member = table.optional_member(key);
  return member ? std::string(names[member->one_of(names)]) : fallback;
}

/// A key of `table` that `gate` alone reads.
std::optional<InputValue> key_of_gate(const InputObject& table, std::string_view key,
                                      std::string_view gate, const Model& model) {
  return key_of_choice(
      table, key, "gate",
      model.gate == gate
          ? ""
          : fmt::format("gate = \"{}\" has none; gate = \"{}\" does", model.gate, gate));
}

void read_drop(const InputObject& table, const GateFacts& facts, Model& model) {
  const auto refusal = [&](Drop drop) -> std::string {
    if (takes_whole_groups(facts.chooser)) return "fills every expert: expected no drop";
    if (facts.drop && drop != *facts.drop) {
      return fmt::format("drops by {}: expected that or no drop", drop_name(*facts.drop));
    }
    if (drop == Drop::probability && !facts.scores_tokens) {
      return "does not rank tokens: expected \"choice\" or \"position\"";
    }
    return "";
  };
  if (const auto value = table.optional_member("drop")) {
    const auto drop = static_cast<Drop>(value->one_of({kDropNames.begin(), kDropNames.end()}));
    const std::string by_gate = refusal(drop);
    if (key_of_choice(
            table, "drop", "gate",
            by_gate.empty() ? "" : fmt::format("gate = \"{}\" {}", model.gate, by_gate)) &&
        key_of_choice(table, "drop", "capacity_factor", model.capacity_factor ? "" : kDropless)) {
      model.drop = drop;
    }
  }
  model.drop = facts.drop.value_or(model.drop);
}

/// The weight of a loss that not every gate has; 0 goes with all.
void read_weight(const InputObject& table, std::string_view key, bool has_loss,
                 std::string_view loss, const std::string& gate, double& field) {
  const auto value = table.optional_member(key);
  const double weight = value ? value->number(0, kFinite, "a number of at least 0") : 0;
  const bool goes = has_loss || weight == 0;
  if (key_of_choice(
          table, key, "gate",
          goes ? ""
               : fmt::format("gate = \"{}\" has no {}: expected 0 or no {}", gate, loss, key))) {
    field = weight;
  } else if (!has_loss) {
    field = 0;
  }
}

void read_gate(const InputObject& table, Model& model) {
  model.gate = read_name(table, "gate", gates(), model.gate);
  const GateFacts& facts = gate_named(model.gate).facts;
  read_drop(table, facts, model);
  read_weight(table, "auxiliary_weight", facts.balances, "load-balancing loss", model.gate,
              model.auxiliary_weight);
  read_weight(table, "z_loss_weight", facts.scores_tokens, "router z-loss", model.gate,
              model.z_loss_weight);
  if (const auto speed = key_of_gate(table, "bias_speed", "bias_adjusted", model)) {
    model.bias_speed = speed->number(0, kFinite, "a number of at least 0");
  }
  // Half as many dimensions as experts.  [Chi et al. 2022]
  if (model.gate == "x_moe") model.gate_rank = std::max(1, model.experts / 2);
  if (const auto rank = key_of_gate(table, "gate_rank", "x_moe", model)) {
    model.gate_rank = rank->integer(1, kMostWidth);
  }
  if (const auto temperature = key_of_gate(table, "gate_temperature", "x_moe", model);
      temperature && !temperature->is("learned")) {
    model.gate_temperature =
        temperature->number(kLeastPositive, kFinite, "a number above 0 or \"learned\"");
  }
}

/// Read before the gate, whose ways to drop belong to it.
void read_capacity(const InputObject& table, Model& model) {
  if (const auto factor = table.optional_member("capacity_factor");
      factor && !factor->is("dropless")) {
    model.capacity_factor =
        factor->number(kLeastPositive, kFinite, "a number above 0 or \"dropless\"");
  }
  if (const auto value = table.optional_member("capacity_groups")) {
    const auto groups = static_cast<int>(value->integer(0, kInt));
    if (key_of_choice(table, "capacity_groups", "capacity_factor",
                      model.capacity_factor || groups == 0 ? "" : kDropless)) {
      model.capacity_groups = groups;
    }
  }
}

void read_networks(const InputObject& table, Model& model) {
  model.expert = read_name(table, "expert", experts(), model.expert);
  const bool chooses = expert_named(model.expert).facts.chooses_activation;
  if (key_of_choice(table, "activation", "expert",
                    chooses ? ""
                            : fmt::format("expert = \"{}\" has an activation of its own: expected "
                                          "no such key",
                                          model.expert))) {
    read_word(table, "activation", kActivations, model.activation);
  }
  if (const auto hidden = table.optional_member("d_expert")) {
    model.d_expert = hidden->integer(1, kMostWidth);
  }
  read_integer(table, "shared_experts", 0, 1 << 10, model.shared_experts);
}

void read_hooks(const InputObject& table, Model& model) {
  for (const std::string_view place : kHookPlaces) {
    if (!table.has(place)) continue;
    model.hooks[std::string(place)] = read_name(table, place, hooks(), "");
  }
}

void read_experts(const InputObject& table, Model& model) {
  read_integer(table, "dense_blocks", 0, kMostBlocks, model.dense_blocks);
  read_integer(table, "moe_every", 0, kInt, model.moe_every);
  if (model.moe_every > 0 || table.has("experts")) {
    model.experts = static_cast<int>(table.integer("experts", 1, kMostExperts));
  }
  if (model.moe_every > 0 || table.has("choices")) {
    model.choices = static_cast<int>(table.integer("choices", 1, kMostExperts));
  }
  read_capacity(table, model);
  read_gate(table, model);
  model.order = read_name(table, "order", orders(), model.order);
  if (const auto table_of_hooks = table.optional_member("hooks")) {
    read_hooks(table_of_hooks->object("a table of hooks"), model);
  }
}

void read_training(const InputObject& table, Model& model) {
  model.global_batch = table.integer("global_batch", 1, kMostWidth);
  read_integer(table, "micro_batches", 1, kMostMicroBatches, model.micro_batches);
  if (model.global_batch % model.micro_batches != 0) {
    table.member("micro_batches")
        .fail(fmt::format("a divisor of global_batch = {}", model.global_batch));
  }
  read_word(table, "optimizer", kOptimizers, model.optimizer);
  model.learning_rate = table.number_or("learning_rate", model.learning_rate, kLeastPositive,
                                        kFinite, "a number above 0");
  if (const auto momentum =
          key_of_choice(table, "momentum", "optimizer",
                        model.optimizer == Optimizer::sgd
                            ? ""
                            : "optimizer = \"adam\" has none; optimizer = \"sgd\" does")) {
    model.momentum = momentum->number(0, std::nextafter(1.0, 0.0), "a number from 0 to below 1");
  }
  read_integer(table, "seed", 0, kAnyInteger, model.seed);
}

/// What keys of several tables can get wrong together.
void check_together(const InputObject& training, const InputObject& moe, const Model& model) {
  const std::int64_t tokens = model.global_batch * model.sequence_length;
  if (tokens > kMostTokens) {
    training.member("global_batch")
        .fail(fmt::format("at most {} tokens with sequence_length = {}", kMostTokens,
                          model.sequence_length));
  }
  if (const auto passes = too_many_passes(model)) training.refuse("micro_batches", *passes);
  if (model.moe_every == 0) return;
  if (model.moe_every > model.blocks - model.dense_blocks) {
    moe.refuse("moe_every",
               fmt::format("expected 0 (no experts) to blocks{} = {}, got {}",
                           model.dense_blocks > 0 ? " - dense_blocks" : "",
                           std::max(model.blocks - model.dense_blocks, 0), model.moe_every));
  }
  if (model.choices > model.experts) {
    moe.member("choices").fail(fmt::format("at most experts = {}", model.experts));
  }
  if (const auto conflict = conflict_of(model)) moe.refuse(conflict->key, conflict->message);
  if (model.capacity_groups > 0 &&
      (tokens % model.capacity_groups != 0 || model.capacity_groups % model.micro_batches != 0)) {
    moe.member("capacity_groups")
        .fail(fmt::format(
            "a divisor of the {} tokens of a batch{}", tokens,
            model.micro_batches > 1
                ? fmt::format(" and a multiple of micro_batches = {}", model.micro_batches)
                : ""));
  }
}

/// Refuses sizes whose product nobody can mean, before anything is made of them; by what they are on as many ranks
/// as may share the batch, check() by those there are.
void check_sizes(const InputObject& root, const Model& model) {
  if (const auto excess = excess_of(model, model.global_batch)) root.refuse("model", *excess);
}

/// A name is of a file beside `file`, or of one that is shipped.
std::filesystem::path find_base(const std::string& base, const std::filesystem::path& file) {
  std::error_code ignored;
  const bool is_name = base.find_first_of("/.") == std::string::npos;
  const std::filesystem::path beside = file.parent_path() / (is_name ? base + ".toml" : base);
  if (std::filesystem::is_regular_file(beside, ignored)) return beside;
  return find_input(is_name ? base : beside.string(), "experiments/models");
}

}  // namespace

Model load_model(const std::filesystem::path& path) {
  const InputDocument document = read_toml_on_base(path, find_base);
  const InputObject root = document.object();
  Model model;
  model.name = path.stem().string();
  if (const auto name = root.optional_member("name")) model.name = name->text();
  root.has("base");  // followed already
  const InputObject sizes = root.object("model", "the table [model]");
  read_sizes(sizes, model);
  read_architecture(sizes, model);
  const InputObject moe = root.object("moe", "the table [moe] (moe_every = 0: no experts)");
  read_networks(moe, model);
  read_experts(moe, model);
  const InputObject training = root.object("training", "the table [training]");
  read_training(training, model);
  check_together(training, moe, model);
  check_sizes(root, model);
  document.no_other_keys();
  return model;
}

std::filesystem::path find_input(const std::string& name_or_path,
                                 const std::filesystem::path& directory) {
  const std::filesystem::path there =
      directory.is_relative() ? source_tree() / directory : directory;
  std::error_code ignored;
  const bool is_name = name_or_path.find_first_of("/.") == std::string::npos;
  if (is_name && std::filesystem::is_regular_file(there / (name_or_path + ".toml"), ignored)) {
    return there / (name_or_path + ".toml");
  }
  // A pipe or a device is refused by whoever reads it, with what it is.
  if (std::filesystem::exists(name_or_path, ignored) &&
      !std::filesystem::is_directory(name_or_path, ignored)) {
    return name_or_path;
  }

  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(there, ignored)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  throw InputError(fmt::format(
      "{}: no such file, and {} has {}", db::shortened(name_or_path, 200), there.string(),
      names.empty() ? "no TOML files" : fmt::format("only {}", fmt::join(names, ", "))));
}

std::string to_json(const Model& model) {
  nlohmann::ordered_json json;
  json["name"] = model.name;
  json["vocabulary"] = model.vocabulary;
  json["sequence_length"] = model.sequence_length;
  json["d_model"] = model.d_model;
  json["d_hidden"] = model.d_hidden;
  json["heads"] = model.heads;
  json["key_value_heads"] = key_value_heads(model);
  json["blocks"] = model.blocks;
  json["norm"] = word_of(model.norm, kNorms);
  json["positions"] = word_of(model.positions, kPositions);
  json["rotary_base"] = model.rotary_base;
  json["head"] = word_of(model.head, kHeads);
  json["biases"] = model.biases;
  json["dtype"] = word_of(model.dtype, kDTypes);
  json["dense_blocks"] = model.dense_blocks;
  json["moe_every"] = model.moe_every;
  json["experts"] = model.experts;
  json["choices"] = model.choices;
  json["gate"] = model.gate;
  json["order"] = model.order;
  json["expert"] = model.expert;
  json["activation"] = word_of(model.activation, kActivations);
  json["d_expert"] = expert_hidden(model);
  json["shared_experts"] = model.shared_experts;
  if (!model.hooks.empty()) json["hooks"] = model.hooks;
  if (model.capacity_factor) {
    json["capacity_factor"] = *model.capacity_factor;
  } else {
    json["capacity_factor"] = "dropless";
  }
  json["capacity_groups"] = model.capacity_groups;
  json["drop"] = drop_name(model.drop);
  json["auxiliary_weight"] = model.auxiliary_weight;
  json["z_loss_weight"] = model.z_loss_weight;
  if (model.gate == "bias_adjusted") json["bias_speed"] = model.bias_speed;
  if (model.gate == "x_moe") {
    json["gate_rank"] = model.gate_rank;
    if (model.gate_temperature) {
      json["gate_temperature"] = *model.gate_temperature;
    } else {
      json["gate_temperature"] = "learned";
    }
  }
  json["global_batch"] = model.global_batch;
  json["micro_batches"] = model.micro_batches;
  json["optimizer"] = word_of(model.optimizer, kOptimizers);
  json["learning_rate"] = model.learning_rate;
  json["momentum"] = model.momentum;
  json["seed"] = model.seed;
  return json.dump();
}

}  // namespace moe
