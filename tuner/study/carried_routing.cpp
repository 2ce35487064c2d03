#include "tuner/study/carried_routing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "moe/program/row_handling.h"
#include "tuner/scenario/gated_layers.h"

namespace tuner {
namespace {

/// How many ranks of `from` have the tokens of one rank of `to`, if any do.
std::optional<int> neighbours(const moe::Program& from, const moe::Program& to) {
  const int before = moe::stage_ranks(from.groups), now = moe::stage_ranks(to.groups);
  if (from.micro_batches != to.micro_batches || before % now != 0) return std::nullopt;
  const int count = before / now;
  const std::vector<GatedLayer> was = gated_layers(from), is = gated_layers(to);
  const bool same = std::ranges::equal(was, is, [&](const GatedLayer& a, const GatedLayer& b) {
    return a.copies * count == b.copies && a.capacity.value_or(0) * count == b.capacity.value_or(0);
  });
  return same ? std::optional(count) : std::nullopt;
}

/// A row for each rank: the sum of so many neighbours.
moe::Routing rows_of_neighbours(moe::Routing recorded, int count) {
  recorded = moe::with_all_rows(std::move(recorded));
  for (moe::LayerRouting& layer : recorded.layers) {
    std::vector<std::vector<std::int64_t>> rows;
    for (std::size_t rank = 0; rank < layer.tokens.size(); ++rank) {
      if (rank % static_cast<std::size_t>(count) == 0) {
        rows.push_back(layer.tokens[rank]);
        continue;
      }
      std::ranges::transform(rows.back(), layer.tokens[rank], rows.back().begin(), std::plus<>());
    }
    layer.tokens = std::move(rows);
    layer.asked.clear();
    layer.by_part.clear();
  }
  return recorded;
}

/// [expert]: the rows of all ranks.
std::vector<double> popularity(const moe::LayerRouting& layer) {
  std::vector<double> sum(static_cast<std::size_t>(layer.experts));
  for (const auto& row : layer.tokens) {
    for (std::size_t e = 0; e < row.size(); ++e) sum[e] += static_cast<double>(row[e]);
  }
  return sum;
}

}  // namespace

moe::Routing carried_routing(const moe::Routing& recorded, const moe::Program& from,
                             const moe::Program& to) {
  if (const auto count = neighbours(from, to)) return rows_of_neighbours(recorded, *count);
  const std::vector<GatedLayer> layers = gated_layers(to);
  const moe::Routing whole = moe::add_micro_batches(recorded);
  moe::Routing carried;
  for (const GatedLayer& wanted : layers) {
    const int block = wanted.at.layer;
    const std::vector<double> weights = popularity(moe::layer_of(whole, {block}));
    const bool even = wanted.full || std::ranges::all_of(weights, [](double w) { return w == 0; });
    moe::LayerRouting& layer = carried.layers.emplace_back(
        even ? moe::uniform_routing(block, 1, wanted.experts, wanted.copies)
             : moe::weighted_routing(block, 1, weights, wanted.copies, wanted.tokens()));
    layer.micro_batch = wanted.at.micro_batch;
    layer.alike = moe::stage_ranks(to.groups);
    fit_capacity(layer, wanted, "recorded");
  }
  return moe::exchanged_rows(to, std::move(carried));
}

}  // namespace tuner
