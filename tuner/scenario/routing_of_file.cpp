#include "tuner/scenario/routing_of_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "moe/errors.h"
#include "moe/input/read_file.h"
#include "moe/model/capacity.h"
#include "moe/rows/routing_file.h"

namespace tuner {
namespace {

using Rows = std::vector<std::vector<std::int64_t>>;

const Rows& asked_of(const moe::LayerRouting& layer) {
  return layer.asked.empty() ? layer.tokens : layer.asked;
}

const moe::LayerRouting& layer_in_file(const moe::Routing& routing, moe::RoutedLayer at,
                                       const std::string& path) {
  const auto found = std::ranges::find_if(routing.layers, [&](const moe::LayerRouting& layer) {
    return layer.layer == at.layer && layer.micro_batch == at.micro_batch;
  });
  if (found == routing.layers.end()) {
    throw moe::InputError(fmt::format("{}: no routing for {}", path, in_words(at)));
  }
  return *found;
}

void check_size(const moe::LayerRouting& found, const GatedLayer& wanted, int ranks,
                const std::string& path) {
  if (found.experts == wanted.experts && found.tokens.size() == static_cast<std::size_t>(ranks)) {
    return;
  }
  throw moe::InputError(
      fmt::format("{}: layer {}: {} experts on {} ranks expected, got {} experts on {} ranks", path,
                  wanted.at.layer, wanted.experts, ranks, found.experts, found.tokens.size()));
}

void check_asked(const moe::LayerRouting& found, const GatedLayer& wanted, int micro_batches,
                 const std::string& path) {
  const std::string wrong = other_copies(asked_of(found), wanted, micro_batches);
  if (wrong.empty()) return;
  // Files that were written after drops have too few.
  const std::string_view way_out = found.asked.empty()
                                       ? ". \"asked\" beside \"tokens\" has what a capacity "
                                         "dropped, too (moe-db export routing); "
                                         "\"counts\" in place of \"tokens\" may have any total"
                                       : "";
  throw moe::InputError(fmt::format(
      "{}: {}: {}{}", path,
      micro_batches == 1 ? in_words(wanted.at)
                         : fmt::format("layer {}, all micro-batches together", wanted.at.layer),
      wrong, way_out));
}

/// Whether the file's copies were kept under the capacity of this layer.
bool has_its_capacity(const moe::RoutingFile& file, const GatedLayer& layer, int ranks,
                      int micro_batches) {
  const int parts = ranks * micro_batches;
  if (!file.capacity_factor || !layer.capacity || file.capacity_groups % parts != 0) return false;
  const int groups = file.capacity_groups == 0 ? 1 : file.capacity_groups / parts;
  if (groups != layer.capacity_groups || layer.tokens() % groups != 0) return false;
  return moe::expert_capacity(layer.choices, *file.capacity_factor, layer.tokens() / groups,
                              layer.experts) *
             groups ==
         *layer.capacity;
}

/// Throws unless the copies that travelled can be those that the layer's capacity, which is the
/// file's, left of what was asked for. Which of its groups asked, a file does not say.
void check_kept(const moe::LayerRouting& found, const GatedLayer& wanted, const std::string& path) {
  const std::int64_t groups = wanted.capacity_groups, capacity = *wanted.capacity / groups,
                     tokens = wanted.tokens() / groups;
  for (std::size_t rank = 0; rank < found.tokens.size(); ++rank) {
    for (std::size_t e = 0; e < found.tokens[rank].size(); ++e) {
      const std::int64_t asked = found.asked[rank][e], kept = found.tokens[rank][e];
      const std::int64_t most = std::min(asked, groups * capacity);
      // All from as few groups as have so many tokens.
      const std::int64_t least =
          asked / tokens * std::min(tokens, capacity) + std::min(asked % tokens, capacity);
      if (kept >= least && kept <= most) continue;
      throw moe::InputError(fmt::format(
          "{}: {}: of {} copies that rank {} asked expert {} for, {} travelled in \"tokens\": "
          "expected {}, under a capacity of {}{}",
          path, in_words(wanted.at), asked, rank, e, kept,
          least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most), capacity,
          groups == 1 ? "" : fmt::format(" in each of {} groups", groups)));
    }
  }
}

/// The layers of a file of exact copies.
moe::Routing copies_of_file(const moe::RoutingFile& file, const std::vector<GatedLayer>& layers,
                            int ranks, int micro_batches, const std::string& path) {
  const bool same = micro_batches_of(file.routing) == micro_batches;
  moe::Routing routing = file.routing;
  if (!same) {
    for (moe::LayerRouting& layer : routing.layers) {
      if (!layer.asked.empty()) layer.tokens = std::exchange(layer.asked, {});
    }
    routing = moe::add_micro_batches(routing);
  }
  for (const GatedLayer& wanted : layers) {
    if (!same && wanted.at.micro_batch > 0) continue;
    const moe::LayerRouting& found = layer_in_file(routing, wanted.at, path);
    check_size(found, wanted, ranks, path);
    if (!wanted.full) check_asked(found, wanted, same ? 1 : micro_batches, path);
  }
  if (!same) routing = moe::share_among_micro_batches(routing, micro_batches);
  moe::Routing result;
  for (const GatedLayer& wanted : layers) {
    moe::LayerRouting& layer = result.layers.emplace_back(layer_in_file(routing, wanted.at, path));
    if (layer.asked.empty()) continue;
    if (has_its_capacity(file, wanted, ranks, micro_batches)) {
      check_kept(layer, wanted, path);
    } else {
      layer.tokens = layer.asked;
    }
    layer.asked.clear();
  }
  return result;
}

/// One row of counts as so many copies as a rank asks for.
std::vector<std::int64_t> scaled(const std::vector<std::int64_t>& counts, const GatedLayer& wanted,
                                 const std::string& path) {
  const std::vector<double> weights(counts.begin(), counts.end());
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (total == 0) {
    throw moe::InputError(fmt::format("{}: layer {}: all {} counts are 0: expected one above 0",
                                      path, wanted.at.layer, counts.size()));
  }
  std::vector<std::int64_t> copies =
      moe::weighted_routing(wanted.at.layer, 1, weights, wanted.copies).tokens.front();
  const auto most = std::ranges::max_element(copies);
  if (!wanted.full && *most > wanted.tokens()) {
    throw moe::InputError(fmt::format(
        "{}: layer {}: expert {} has {} of {} counts: expected at most one in {}, since a token "
        "chooses {} different experts",
        path, wanted.at.layer, most - copies.begin(), counts[most - copies.begin()], total,
        wanted.choices, wanted.choices));
  }
  return copies;
}

/// The MoE layers of a Program, in their order.
std::vector<int> moe_layers(const std::vector<GatedLayer>& layers) {
  std::set<int> numbers;
  for (const GatedLayer& layer : layers) numbers.insert(layer.at.layer);
  return {numbers.begin(), numbers.end()};
}

/// Says which layers of a file are none of the Program's.
void remark_on_other_layers(const moe::Routing& routing, const std::vector<GatedLayer>& layers,
                            const std::string& path,
                            const std::function<void(const std::string&)>& say) {
  const std::vector<int> known = moe_layers(layers);
  std::set<int> others;
  for (const moe::LayerRouting& layer : routing.layers) others.insert(layer.layer);
  for (const int layer : known) others.erase(layer);
  if (others.empty()) return;
  say(fmt::format("{}: the model has no MoE layer {}, only {}: what the file has of {} is not used",
                  path, fmt::join(others, ", "), fmt::join(known, ", "),
                  others.size() == 1 ? "it" : "them"));
}

/// Whether counts are of layers 0, 1, ... for a model that numbers its MoE layers otherwise.
bool are_counted_from_zero(const moe::RoutingFile& file, const std::vector<int>& numbers) {
  if (!file.any_total || file.by_place || micro_batches_of(file.routing) > 1) return false;
  std::vector<int> counted, places;
  for (const moe::LayerRouting& layer : file.routing.layers) {
    places.push_back(static_cast<int>(places.size()));
    counted.push_back(layer.layer);
  }
  std::ranges::sort(counted);
  return counted == places && counted.size() == numbers.size() && counted != numbers;
}

/// The rows of all ranks as one.
std::vector<std::int64_t> added_up(const Rows& rows) {
  std::vector<std::int64_t> sum(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t e = 0; e < row.size(); ++e) sum[e] += row[e];
  }
  return sum;
}

/// The layers of a file of counts of any total.
moe::Routing scaled_counts(const moe::RoutingFile& file, const std::vector<GatedLayer>& layers,
                           int ranks, int micro_batches, const std::string& path,
                           const std::function<void(const std::string&)>& say) {
  const bool same = micro_batches_of(file.routing) == micro_batches;
  moe::Routing counts = same ? file.routing : moe::add_micro_batches(file.routing);
  const std::vector<int> numbers = moe_layers(layers);
  if (file.by_place) {
    if (counts.layers.size() != numbers.size()) {
      throw moe::InputError(
          fmt::format("{}: counts of {} layers: expected {}, one list for each "
                      "MoE layer",
                      path, counts.layers.size(), numbers.size()));
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) counts.layers[i].layer = numbers[i];
  }
  moe::Routing result;
  for (const GatedLayer& wanted : layers) {
    const moe::RoutedLayer at{wanted.at.layer, same ? wanted.at.micro_batch : 0};
    const moe::LayerRouting& found = layer_in_file(counts, at, path);
    // Counts of other ranks than the Program's are taken together.
    const bool alike = found.tokens.size() != static_cast<std::size_t>(ranks);
    if (found.experts != wanted.experts) {
      throw moe::InputError(fmt::format("{}: layer {}: {} experts expected, got {}", path,
                                        wanted.at.layer, wanted.experts, found.experts));
    }
    if (file.choices != 0 && file.choices != wanted.choices) {
      throw moe::InputError(
          fmt::format("{}: layer {}: a token of these counts chose {} experts: expected {}, as in "
                      "the model",
                      path, wanted.at.layer, file.choices, wanted.choices));
    }
    moe::LayerRouting& layer = result.layers.emplace_back();
    layer.layer = wanted.at.layer;
    layer.micro_batch = wanted.at.micro_batch;
    layer.experts = wanted.experts;
    layer.alike = alike ? ranks : 1;
    const Rows rows = alike ? Rows{added_up(found.tokens)} : found.tokens;
    for (const auto& row : rows) layer.tokens.push_back(scaled(row, wanted, path));
  }
  const moe::LayerRouting& first = counts.layers.front();
  std::int64_t total = 0;
  for (const auto& row : first.tokens) {
    total += std::accumulate(row.begin(), row.end(), std::int64_t{0});
  }
  say(
      fmt::format("{}: counts of {} layers are scaled to the copies that tokens ask for: of layer "
                  "{} {}to {} of each of {} ranks{}",
                  path, numbers.size(), first.layer,
                  file.whole ? fmt::format("from {} ", total) : "", layers.front().copies, ranks,
                  first.tokens.size() == static_cast<std::size_t>(ranks) ? ""
                  : first.tokens.size() == 1
                      ? ", alike"
                      : fmt::format(", alike, of {} ranks together", first.tokens.size())));
  return result;
}

}  // namespace

std::string other_copies(const Rows& asked, const GatedLayer& layer, int micro_batches) {
  const std::int64_t copies = layer.copies * micro_batches, tokens = layer.tokens() * micro_batches;
  for (std::size_t rank = 0; rank < asked.size(); ++rank) {
    const auto& row = asked[rank];
    const std::int64_t sum = std::accumulate(row.begin(), row.end(), std::int64_t{0});
    if (sum != copies) {
      return fmt::format("rank {} asks for {} copies, expected {}: {} of each of its {} tokens",
                         rank, sum, copies, layer.choices, tokens);
    }
    const auto most = std::ranges::max_element(row);
    if (*most > tokens) {
      return fmt::format(
          "rank {} sends expert {} {} copies, expected at most {}, one of each of its tokens", rank,
          most - row.begin(), *most, tokens);
    }
  }
  return "";
}

int micro_batches_of(const moe::Routing& routing) {
  int found = 1;
  for (const moe::LayerRouting& layer : routing.layers) {
    found = std::max(found, layer.micro_batch + 1);
  }
  return found;
}

moe::Routing of_micro_batches(moe::Routing routing, int micro_batches) {
  if (micro_batches_of(routing) == micro_batches) return routing;
  return moe::share_among_micro_batches(moe::add_micro_batches(routing), micro_batches);
}

moe::Routing routing_of_file(const std::string& path, const moe::Program& program,
                             const std::vector<GatedLayer>& layers, const moe::Groups& groups,
                             const std::function<void(const std::string&)>& say) {
  moe::RoutingFile file = moe::routing_file_from_json(moe::read_file(path), path);
  if (layers.empty()) return {};
  if (const std::vector<int> numbers = moe_layers(layers); are_counted_from_zero(file, numbers)) {
    std::ranges::sort(file.routing.layers, {}, &moe::LayerRouting::layer);
    file.by_place = true;
    say(fmt::format("{}: layers 0 to {} are taken as the model's MoE layers {}, in their order",
                    path, numbers.size() - 1, fmt::join(numbers, ", ")));
  }
  if (!file.by_place) remark_on_other_layers(file.routing, layers, path, say);
  const int ranks = moe::stage_ranks(groups);
  return file.any_total ? scaled_counts(file, layers, ranks, program.micro_batches, path, say)
                        : copies_of_file(file, layers, ranks, program.micro_batches, path);
}

}  // namespace tuner
