#include "tuner/study/carried_routing.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "moe/program/row_handling.h"
#include "tuner/scenario/gated_layers.h"
#include "tuner/scenario/routing_of_file.h"

namespace tuner {
namespace {

bool is_as_recorded(const moe::Routing& recorded, const std::vector<GatedLayer>& layers,
                    const moe::Program& to) {
  if (micro_batches_of(recorded) != to.micro_batches) return false;
  return std::ranges::all_of(layers, [&](const GatedLayer& wanted) {
    const moe::LayerRouting& layer = moe::layer_of(recorded, wanted.at);
    return moe::source_ranks(layer) == moe::stage_ranks(to.groups) &&
           other_copies(layer.tokens, wanted).empty();
  });
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

moe::Routing carried_routing(const moe::Routing& recorded, const moe::Program& to) {
  const std::vector<GatedLayer> layers = gated_layers(to);
  if (is_as_recorded(recorded, layers, to)) return recorded;
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
