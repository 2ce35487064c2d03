#include "moe/model/layout_refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "moe/model/combination_refusal.h"
#include "moe/model/latent_keys.h"
#include "moe/model/limits.h"
#include "moe/model/model_size.h"
#include "moe/model/rotary_keys.h"

namespace moe {
namespace {

constexpr std::int64_t kMostCopies = std::numeric_limits<std::int32_t>::max();

template <class Field, class Value>
ModelChange change(std::string_view key, Field Model::*field, Value value) {
  return {key, fmt::format("{} = {}", key, value),
          [field, value](Model& model) { model.*field = static_cast<Field>(value); }};
}

/// Changes to the multiples of `parts` next to `value`.
template <class Field>
std::vector<ModelChange> to_multiples(std::string_view key, Field Model::*field, std::int64_t value,
                                      std::int64_t parts, std::int64_t least = 1) {
  std::vector<ModelChange> changes;
  const std::int64_t below = value / parts * parts;
  if (below >= least) changes.push_back(change(key, field, below));
  if (below + parts >= least) changes.push_back(change(key, field, below + parts));
  return changes;
}

/// "global_batch = 16 does not divide by 3 ranks"
LayoutRefusal not_divided(std::string_view key, std::int64_t value, std::int64_t parts,
                          std::string_view what, std::vector<ModelChange> changes) {
  return {fmt::format("{} = {} does not divide by {} {}", key, value, parts, what),
          std::move(changes)};
}

/// Equal parts of the global batch: one for each rank of a stage and micro-batch.
struct Parts {
  std::int64_t count;
  std::string text;  ///< "3 ranks", "3 ranks of a stage times 4 micro_batches"
};

Parts parts_of(const Model& model, const Layout& layout) {
  const std::int64_t ranks = stage_ranks(layout);
  return {ranks * model.micro_batches,
          fmt::format("{} ranks{}{}", ranks, layout.pipeline > 1 ? " of a stage" : "",
                      model.micro_batches > 1
                          ? fmt::format(" times {} micro_batches", model.micro_batches)
                          : "")};
}

/// Equal parts of the global batch in whole sequences.
Parts sequence_parts_of(const Model& model, const Layout& layout) {
  if (model.batch_per == BatchPer::rank || layout.tensor == 1) return parts_of(model, layout);
  const std::int64_t groups = stage_ranks(layout) / layout.tensor;
  return {groups * model.micro_batches,
          fmt::format("{} groups of {} ranks (tp){}", groups, layout.tensor,
                      model.micro_batches > 1
                          ? fmt::format(" times {} micro_batches", model.micro_batches)
                          : "")};
}

/// Ranks that share sequences have equal shares of their tokens.
std::optional<LayoutRefusal> refusal_by_tokens(const Model& model, const Layout& layout) {
  const Parts parts = parts_of(model, layout);
  const std::int64_t tokens = model.global_batch * model.sequence_length;
  if (tokens % parts.count == 0) return std::nullopt;
  return LayoutRefusal{
      fmt::format("{} tokens (global_batch = {} times sequence_length = {}) do not divide by {}",
                  tokens, model.global_batch, model.sequence_length, parts.text),
      to_multiples("global_batch", &Model::global_batch, model.global_batch, parts.count)};
}

std::optional<LayoutRefusal> refusal_by_batch(const Model& model, const Layout& layout) {
  const Parts parts = sequence_parts_of(model, layout);
  if (model.global_batch % parts.count == 0) return refusal_by_tokens(model, layout);
  auto changes =
      to_multiples("global_batch", &Model::global_batch, model.global_batch, parts.count);
  for (int count = model.micro_batches; --count > 0;) {
    if (model.global_batch % (parts.count / model.micro_batches * count) != 0) continue;
    changes.push_back(change("micro_batches", &Model::micro_batches, count));
    break;
  }
  if (layout.tensor > 1 && model.batch_per == BatchPer::rank) {
    changes.push_back({"batch_per", "batch_per = \"tp_group\"",
                       [](Model& m) { m.batch_per = BatchPer::tp_group; }});
  }
  return LayoutRefusal{
      fmt::format("global_batch = {} does not divide by {}", model.global_batch, parts.text),
      std::move(changes)};
}

/// The multiples of `parts` next to `groups`, not far from it, that divide the tokens.
std::vector<ModelChange> to_dividing_groups(int groups, std::int64_t parts, std::int64_t tokens) {
  constexpr int kMostTried = 1000;
  std::vector<ModelChange> changes;
  const std::int64_t below = groups / parts * parts;
  for (const std::int64_t step : {-parts, parts}) {
    std::int64_t next = step < 0 ? below : below + parts;
    for (int tried = 0; tried < kMostTried && next > 0 && tokens % next != 0; ++tried) next += step;
    if (next > 0 && tokens % next == 0 && next <= std::numeric_limits<int>::max()) {
      changes.push_back(change("capacity_groups", &Model::capacity_groups, next));
    }
  }
  return changes;
}

std::optional<LayoutRefusal> refusal_by_capacity_groups(const Model& model, const Layout& layout) {
  if (model.capacity_groups == 0 || blocks_with_experts(model) == 0) return std::nullopt;
  const Parts parts = parts_of(model, layout);
  const std::int64_t tokens = model.global_batch * model.sequence_length;
  const auto refuse = [&](std::string message) {
    return LayoutRefusal{std::move(message),
                         to_dividing_groups(model.capacity_groups, parts.count, tokens)};
  };
  if (model.capacity_groups % parts.count != 0) {
    return refuse(fmt::format("capacity_groups = {} does not divide by {}", model.capacity_groups,
                              parts.text));
  }
  if (tokens % model.capacity_groups != 0) {
    return refuse(fmt::format(
        "{} tokens (global_batch = {} times sequence_length = {}) do not divide into {} capacity "
        "groups",
        tokens, model.global_batch, model.sequence_length, model.capacity_groups));
  }
  return std::nullopt;
}

std::optional<LayoutRefusal> refusal_by_stages(const Model& model, const Layout& layout) {
  if (layout.pipeline > model.blocks) {
    return LayoutRefusal{fmt::format("{} blocks on {} pipeline stages: a stage would have none",
                                     model.blocks, layout.pipeline),
                         layout.pipeline > kMostBlocks
                             ? std::vector<ModelChange>{}
                             : std::vector{change("blocks", &Model::blocks, layout.pipeline)}};
  }
  return std::nullopt;
}

std::optional<LayoutRefusal> refusal_by_experts(const Model& model, const Layout& layout) {
  if (blocks_with_experts(model) == 0) return std::nullopt;
  if (model.experts < layout.expert) {
    return LayoutRefusal{
        fmt::format("experts = {} are fewer than the {} ranks that they are spread over (ep)",
                    model.experts, layout.expert),
        {change("experts", &Model::experts, layout.expert)}};
  }
  const std::int64_t hidden = expert_hidden(model);
  if (hidden % layout.expert_sharded != 0) {
    constexpr std::string_view what = "ranks that share an expert (esp)";
    return model.d_expert
               ? not_divided(
                     "d_expert", hidden, layout.expert_sharded, what,
                     to_multiples("d_expert", &Model::d_expert, hidden, layout.expert_sharded))
               : not_divided(
                     "d_hidden", hidden, layout.expert_sharded, what,
                     to_multiples("d_hidden", &Model::d_hidden, hidden, layout.expert_sharded));
  }
  const std::int64_t shared = model.shared_experts * hidden;
  if (shared % layout.tensor != 0) {
    int more = model.shared_experts;
    while (more * hidden % layout.tensor != 0) ++more;
    return not_divided("shared_experts times their hidden width", shared, layout.tensor,
                       "ranks that shared experts are cut over (tp)",
                       {change("shared_experts", &Model::shared_experts, more)});
  }
  return std::nullopt;
}

std::optional<LayoutRefusal> refusal_by_dense_layers(const Model& model, const Layout& layout) {
  constexpr std::string_view attention = "ranks that attention is cut over (tp)";
  if (model.heads % layout.tensor != 0) {
    return not_divided("heads", model.heads, layout.tensor, attention,
                       to_multiples("heads", &Model::heads, model.heads, layout.tensor));
  }
  if (model.query_key_norm == QueryKeyNorms::all && layout.tensor > 1) {
    return LayoutRefusal{
        fmt::format("query_key_norm = \"all\" is of all heads together: expected tp = 1, got {}",
                    layout.tensor),
        {}};
  }
  if (const int heads = key_value_heads(model); heads % layout.tensor != 0) {
    return not_divided(
        "key_value_heads", heads, layout.tensor, attention,
        to_multiples("key_value_heads", &Model::key_value_heads, heads, layout.tensor));
  }
  if (model.shard_vocabulary && model.vocabulary % layout.tensor != 0) {
    return not_divided(
        "vocabulary", model.vocabulary, layout.tensor, "ranks that the vocabulary is cut over (tp)",
        to_multiples("vocabulary", &Model::vocabulary, model.vocabulary, layout.tensor, 2));
  }
  if (blocks_with_experts(model) < model.blocks && model.d_hidden % layout.tensor != 0) {
    return not_divided("d_hidden", model.d_hidden, layout.tensor,
                       "ranks that dense networks are cut over (tp)",
                       to_multiples("d_hidden", &Model::d_hidden, model.d_hidden, layout.tensor));
  }
  return std::nullopt;
}

/// Changes to more micro-batches, as many as the sequences of a rank allow.
std::vector<ModelChange> to_more_micro_batches(const Model& model, const Layout& layout) {
  std::vector<ModelChange> changes;
  for (int count = model.micro_batches; ++count <= kMostMicroBatches;) {
    Model more = model;
    more.micro_batches = count;
    if (refusal_by_batch(more, layout)) continue;
    changes.push_back(change("micro_batches", &Model::micro_batches, count));
  }
  return changes;
}

std::optional<LayoutRefusal> refusal_by_size(const Model& model, const Layout& layout) {
  const std::int64_t parts = parts_of(model, layout).count;
  const std::int64_t tokens = model.global_batch * model.sequence_length / parts;
  if (tokens > kMostCopies / model.choices) {
    return LayoutRefusal{
        fmt::format("choices = {} of each of {} tokens of a rank are more than {} copies",
                    model.choices, tokens, kMostCopies),
        to_more_micro_batches(model, layout)};
  }
  if (const auto refusal = size_refusal(model, parts)) {
    std::vector<ModelChange> changes = to_more_micro_batches(model, layout);
    changes.push_back({"order", "order = \"sparse\"", [](Model& m) { m.order = "sparse"; }});
    return LayoutRefusal{*refusal, std::move(changes)};
  }
  return std::nullopt;
}

/// Why a model cannot be trained under any layout, with the expected values.
std::optional<LayoutRefusal> refusal_of_any_layout(const Model& model) {
  const auto refuse = [](std::string message) { return LayoutRefusal{std::move(message), {}}; };
  if (const auto refusal = combination_refusal(model)) {
    return refuse(fmt::format("{}: {}", refusal->key, refusal->message));
  }
  if (const auto passes = passes_refusal(model)) {
    return refuse(fmt::format("micro_batches: {}", *passes));
  }
  if (!model.head_width && model.d_model % model.heads != 0) {
    return refuse(fmt::format("heads = {}: expected a divisor of d_model = {}, or a head_width",
                              model.heads, model.d_model));
  }
  if (key_value_heads(model) < 1 || model.heads % key_value_heads(model) != 0) {
    return refuse(fmt::format("key_value_heads = {}: expected a divisor of heads = {}",
                              key_value_heads(model), model.heads));
  }
  for (std::string (*const refusal_of)(const Model&) : {rotary_refusal, latent_refusal}) {
    if (std::string refusal = refusal_of(model); !refusal.empty())
      return refuse(std::move(refusal));
  }
  return std::nullopt;
}

}  // namespace

LayoutFits fits(const Model& model) {
  return [&model](const Layout& layout) { return !layout_refusal(model, layout); };
}

std::optional<LayoutRefusal> layout_refusal(const Model& model, const Layout& layout) {
  if (auto refusal = refusal_of_any_layout(model)) return refusal;
  if (auto refusal = refusal_by_batch(model, layout)) return refusal;
  if (auto refusal = refusal_by_capacity_groups(model, layout)) return refusal;
  if (auto refusal = refusal_by_stages(model, layout)) return refusal;
  if (auto refusal = refusal_by_experts(model, layout)) return refusal;
  if (auto refusal = refusal_by_dense_layers(model, layout)) return refusal;
  return refusal_by_size(model, layout);
}

}  // namespace moe
