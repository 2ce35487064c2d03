#include "moe/model/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "moe/model/conflict.h"

namespace moe {
namespace {

/// "key = 16 does not divide by 3 ranks: expected 1, 2 or 4 ranks (--ranks), or key = 15 or 18". Parts divide
/// `whole_parts` and values `whole_value`, where these are given (0: not).
[[noreturn]] void fail(const Model& model, std::string_view key, std::int64_t value, int parts,
                       std::string_view what, std::string_view option, int whole_parts = 0,
                       std::int64_t whole_value = 0) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::int64_t> fitting;  // the nearest, ascending
  for (std::int64_t n = std::min<std::int64_t>(parts, value);
       n > 0 && fitting.size() < kMostNamed / 2; --n) {
    if (value % n == 0 && whole_parts % n == 0) fitting.insert(fitting.begin(), n);
  }
  for (std::int64_t n = parts;
       n <= 2 * std::int64_t{parts} && n <= value && fitting.size() < kMostNamed; ++n) {
    if (value % n == 0 && whole_parts % n == 0) fitting.push_back(n);
  }
  std::vector<std::int64_t> values;
  for (const std::int64_t n : {value / parts * parts, value / parts * parts + parts}) {
    if (n > 0 && whole_value % n == 0) values.push_back(n);
  }
  throw std::invalid_argument(fmt::format(
      "model {}: {} = {} does not divide by {} {}: expected {} {} ({}){}", model.name, key, value,
      parts, what, fmt::join(fitting, ", "), what, option,
      values.empty() ? "" : fmt::format(", or {} = {}", key, fmt::join(values, " or "))));
}

}  // namespace

int key_value_heads(const Model& model) { return model.key_value_heads.value_or(model.heads); }

std::int64_t expert_hidden(const Model& model) { return model.d_expert.value_or(model.d_hidden); }

bool has_experts(const Model& model, int block) {
  return model.moe_every > 0 && block >= model.dense_blocks &&
         (block - model.dense_blocks + 1) % model.moe_every == 0;
}

int blocks_with_experts(const Model& model) {
  int count = 0;
  for (int block = 0; block < model.blocks; ++block) count += has_experts(model, block) ? 1 : 0;
  return count;
}

void check(const Model& model, const Groups& groups) {
  if (const auto conflict = conflict_of(model)) {
    throw std::invalid_argument(
        fmt::format("model {}: {}: {}", model.name, conflict->key, conflict->message));
  }
  const int parts = stage_ranks(groups) * model.micro_batches;
  const std::string of_batch =
      model.micro_batches > 1 ? fmt::format("ranks times micro_batches = {}", model.micro_batches)
                              : "ranks";
  if (model.global_batch % parts != 0) {
    fail(model, "global_batch", model.global_batch, parts, of_batch, "--ranks");
  }
  const Layout& layout = groups.layout;
  if (layout.pipeline > model.blocks) {
    throw std::invalid_argument(fmt::format(
        "model {}: {} blocks on {} pipeline stages: a stage would have none: expected at "
        "most --layout pp={}",
        model.name, model.blocks, layout.pipeline, model.blocks));
  }
  if (layout.pipeline > 1 && model.head == Head::tied) {
    throw std::invalid_argument(fmt::format(
        "model {}: head = \"tied\" with {} pipeline stages: the first and the last would "
        "share a matrix: expected --layout pp=1 or head = \"untied\"",
        model.name, layout.pipeline));
  }
  const int mixtures = blocks_with_experts(model);
  if (mixtures > 0 && model.experts % layout.expert != 0) {
    fail(model, "experts", model.experts, layout.expert, "ranks that the experts are spread over",
         "--layout ep=");
  }
  if (mixtures > 0 && expert_hidden(model) % layout.expert_sharded != 0) {
    fail(model, model.d_expert ? "d_expert" : "d_hidden", expert_hidden(model),
         layout.expert_sharded, "ranks that share an expert", "--layout esp=");
  }
  if (model.heads % layout.tensor != 0) {
    fail(model, "heads", model.heads, layout.tensor, "ranks that attention is cut over",
         "--layout tp=", stage_ranks(layout), model.d_model);
  }
  if (key_value_heads(model) % layout.tensor != 0) {
    fail(model, "key_value_heads", key_value_heads(model), layout.tensor,
         "ranks that attention is cut over", "--layout tp=", stage_ranks(layout), model.heads);
  }
  if (mixtures < model.blocks && model.d_hidden % layout.tensor != 0) {
    fail(model, "d_hidden", model.d_hidden, layout.tensor, "ranks that dense networks are cut over",
         "--layout tp=", stage_ranks(layout));
  }
  const std::int64_t shared_hidden = model.shared_experts * expert_hidden(model);
  if (mixtures > 0 && shared_hidden % layout.tensor != 0) {
    fail(model, "shared_experts times their hidden width", shared_hidden, layout.tensor,
         "ranks that shared experts are cut over", "--layout tp=", stage_ranks(layout));
  }
  if (model.capacity_groups > 0 && model.capacity_groups % parts != 0) {
    fail(model, "capacity_groups", model.capacity_groups, parts, of_batch, "--ranks");
  }
  const int capacity_groups = model.capacity_groups > 0 ? model.capacity_groups : parts;
  const std::int64_t tokens = model.global_batch * model.sequence_length;
  if (tokens % capacity_groups != 0) {
    throw std::invalid_argument(fmt::format(
        "model {}: {} tokens (global_batch = {} times sequence_length = {}) do not divide into {} "
        "capacity groups: expected another capacity_groups or global_batch",
        model.name, tokens, model.global_batch, model.sequence_length, capacity_groups));
  }
  constexpr std::int64_t kMostCopies = std::numeric_limits<std::int32_t>::max();
  if (tokens / parts > kMostCopies / model.choices) {
    throw std::invalid_argument(
        fmt::format("model {}: choices = {} of each of {} tokens of a rank: expected at most {} "
                    "copies, so more ranks (--ranks), more micro_batches or a smaller global_batch",
                    model.name, model.choices, tokens / parts, kMostCopies));
  }
  if (model.d_model % model.heads != 0) {
    throw std::invalid_argument(
        fmt::format("model {}: heads = {}: expected a divisor of d_model = {}", model.name,
                    model.heads, model.d_model));
  }
  if (key_value_heads(model) < 1 || model.heads % key_value_heads(model) != 0) {
    throw std::invalid_argument(
        fmt::format("model {}: key_value_heads = {}: expected a divisor of heads = {}", model.name,
                    key_value_heads(model), model.heads));
  }
  if (model.positions == Positions::rotary && model.d_model / model.heads % 2 != 0) {
    throw std::invalid_argument(fmt::format(
        "model {}: heads of width {} (d_model = {} over heads = {}): rotary positions need an even "
        "one",
        model.name, model.d_model / model.heads, model.d_model, model.heads));
  }
}

}  // namespace moe
