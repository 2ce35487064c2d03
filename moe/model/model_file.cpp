#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "moe/errors.h"
#include "moe/input/named_file.h"
#include "moe/input/toml.h"
#include "moe/input/toml_base.h"
#include "moe/input/value.h"
#include "moe/model/block_pattern.h"
#include "moe/model/combination_refusal.h"
#include "moe/model/gates/gates.h"
#include "moe/model/limits.h"
#include "moe/model/model.h"
#include "moe/model/model_size.h"
#include "moe/model/model_toml.h"
#include "moe/model/published/read_config.h"
#include "moe/model/read_key.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

/// A key that another gate declares has no use; where the chosen gate declares one of that name
/// too, that one is read.
void read_own_keys(const InputObject& moe, Model& model) {
  const Gate& chosen = gate_named(model.gate);
  std::set<std::string_view> known;
  for (const ModelKey& key : chosen.keys) {
    read_key(moe, key, model);
    known.insert(key.name);
  }
  for (const Gate& gate : gates()) {
    for (const ModelKey& key : gate.keys) {
      if (known.contains(key.name)) continue;
      if (const auto value = moe.optional_member(key.name)) {
        refuse_key(
            *value, moe, "gate",
            fmt::format("gate = \"{}\" has none; gate = \"{}\" does", model.gate, gate.name));
      }
    }
  }
}

/// `dtype` in [model] is what version 0.1 called `precision` in [training].
void read_earlier_precision(const InputObject& sizes, const InputObject& training, Model& model) {
  const auto earlier = sizes.optional_member("dtype");
  if (!earlier) return;
  if (training.has("precision")) {
    earlier->refuse("expected precision in [training] alone, which dtype was called before");
  }
  set_precision(*earlier, model);
}

/// The facts of the gate rule over defaults and over inherited keys.
void take_from_gate(Model& model) {
  const GateFacts facts = gate_named(model.gate).facts;
  if (!facts.balances) model.auxiliary_weight = 0;
  if (!facts.scores_tokens) model.z_loss_weight = 0;
  if (facts.drop) model.drop = *facts.drop;
}

/// Refuses keys of [model] that do not go together.
void check_architecture(const InputObject& table, const Model& model) {
  if (!model.head_width && model.d_model % model.heads != 0) {
    table.member("heads").fail(
        fmt::format("a divisor of d_model = {}, or a head_width beside it", model.d_model));
  }
  if (model.heads % key_value_heads(model) != 0) {
    table.member("key_value_heads").fail(fmt::format("a divisor of heads = {}", model.heads));
  }
  if (const std::string refusal = rotary_refusal(model); !refusal.empty()) {
    table.refuse("positions", refusal);
  }
}

/// Refuses keys of several tables that do not go together.
void check_together(const InputObject& training, const InputObject& moe, const Model& model) {
  if (model.global_batch % model.micro_batches != 0) {
    training.member("micro_batches")
        .fail(fmt::format("a divisor of global_batch = {}", model.global_batch));
  }
  if (falls_to_an_end(model) && model.decay_steps == 0) {
    const InputValue schedule = training.member("learning_rate_schedule");
    schedule.refuse(fmt::format("\"{}\" ends at an iteration: expected decay_steps beside it",
                                schedule.text()));
  }
  const std::int64_t tokens = model.global_batch * model.sequence_length;
  if (tokens > kMostTokens) {
    training.member("global_batch")
        .fail(fmt::format("at most {} tokens with sequence_length = {}", kMostTokens,
                          model.sequence_length));
  }
  if (const auto passes = passes_refusal(model)) training.refuse("micro_batches", *passes);
  if (block_pattern(model) == kByPeriod && model.moe_every > 0 &&
      model.moe_every > model.blocks - model.dense_blocks) {
    moe.refuse("moe_every",
               fmt::format("expected 0 (no experts) to blocks{} = {}, got {}",
                           model.dense_blocks > 0 ? " - dense_blocks" : "",
                           std::max(model.blocks - model.dense_blocks, 0), model.moe_every));
  }
  if (blocks_with_experts(model) == 0) return;
  if (model.choices > model.experts) {
    moe.member("choices").fail(fmt::format("at most experts = {}", model.experts));
  }
  if (const auto refusal = combination_refusal(model)) moe.refuse(refusal->key, refusal->message);
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

/// Refuses sizes whose product nobody can mean before anything is built from them. It takes as many
/// ranks as can share the batch; check() takes the ranks there are.
void check_sizes(const InputObject& root, const Model& model) {
  if (const auto refusal = size_refusal(model, model.global_batch)) root.refuse("model", *refusal);
}

/// Lines of a text that nobody wrote.
void forget_lines(InputNode& node) {
  node.line = 0;
  if (auto* members = std::get_if<InputNode::Members>(&node.value)) {
    for (InputMember& member : *members) forget_lines(member.node);
  }
}

Model read_model(const InputDocument& document, const std::string& name) {
  const InputObject root = document.object();
  Model model;
  model.name = name;
  root.has("base");  // followed already
  const InputObject sizes = root.object("model", "the table [model]"),
                    moe = root.object("moe", "the table [moe] (moe_every = 0: no experts)"),
                    training = root.object("training", "the table [training]");
  const std::map<std::string_view, InputObject> tables{
      {"", root}, {"model", sizes}, {"moe", moe}, {"training", training}};
  const auto hooks = moe.optional_member("hooks");
  const auto table_of_hooks =
      hooks ? std::optional(hooks->object("a table of hooks")) : std::nullopt;
  for (const ModelKey& key : common_keys()) {
    if (key.table != "moe.hooks") {
      read_key(tables.at(key.table), key, model);
    } else if (table_of_hooks) {
      read_key(*table_of_hooks, key, model);
    }
  }
  read_earlier_precision(sizes, training, model);
  read_own_keys(moe, model);
  take_from_gate(model);
  check_architecture(sizes, model);
  check_together(training, moe, model);
  check_sizes(root, model);
  document.no_other_keys();
  return model;
}

}  // namespace

Model load_model(const std::filesystem::path& path, const std::vector<std::string>& settings) {
  if (is_config(path)) return load_model(read_config(path).model, path.string(), settings);
  return read_model(read_toml_on_base(path, bases_in("experiments/models"), settings),
                    path.stem().string());
}

Model load_model(const Model& below, const std::string& name,
                 const std::vector<std::string>& settings) {
  InputNode root = parse_toml_node(to_toml(below), name);
  forget_lines(root);
  return read_model(toml_below_settings(std::move(root), name, settings), below.name);
}

std::filesystem::path find_input(const std::string& name_or_path,
                                 const std::filesystem::path& directory) {
  return named_file(name_or_path, directory, kConfigFile);
}

}  // namespace moe
