#include "moe/rows/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

namespace moe {
namespace {

void check_sizes(int ranks, int experts, std::int64_t copies) {
  if (ranks < 1 || experts < 1 || copies < 0) {
    throw std::invalid_argument(
        fmt::format("routing: {} ranks, {} experts, {} copies", ranks, experts, copies));
  }
}

/// Shares `copies` out in proportion to `weights` by largest remainder.
std::vector<std::int64_t> apportion(const std::vector<double>& weights, std::int64_t copies) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> result(weights.size());
  std::vector<std::pair<double, std::size_t>> remainders;
  std::int64_t given = 0;
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const double share = static_cast<double>(copies) * weights[e] / total;
    result[e] = static_cast<std::int64_t>(share);
    given += result[e];
    remainders.emplace_back(-(share - static_cast<double>(result[e])), e);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; given < copies; ++i, ++given) ++result[remainders[i].second];
  return result;
}

/// Deals out copy after copy to part after part, so that part `index` of `count` has its share of
/// each row and of each expert.
void take_share(std::vector<std::int64_t>& row, int index, int count) {
  const auto of_part = [&](std::int64_t copies) { return (copies + count - 1 - index) / count; };
  std::int64_t before = 0;
  for (std::int64_t& tokens : row) {
    const std::int64_t end = before + tokens;
    tokens = of_part(end) - of_part(std::exchange(before, end));
  }
}

}  // namespace

int source_ranks(const LayerRouting& routing) {
  return static_cast<int>(routing.tokens.size()) * routing.alike;
}
Routing with_all_rows(Routing routing) {
  for (LayerRouting& layer : routing.layers) {
    std::vector<std::vector<std::int64_t>> rows;
    for (int rank = 0; rank < source_ranks(layer); ++rank) rows.push_back(tokens_from(layer, rank));
    layer.tokens = std::move(rows);
    layer.alike = 1;
  }
  return routing;
}
const std::vector<std::int64_t>& tokens_from(const LayerRouting& routing, int rank) {
  return routing.tokens[rank / routing.alike];
}

const LayerRouting& layer_of(const Routing& routing, RoutedLayer wanted) {
  for (const LayerRouting& candidate : routing.layers) {
    if (candidate.layer == wanted.layer && candidate.micro_batch == wanted.micro_batch) {
      return candidate;
    }
  }
  throw std::out_of_range(fmt::format(
      "no routing for layer {}{}", wanted.layer,
      wanted.micro_batch > 0 ? fmt::format(", micro-batch {}", wanted.micro_batch) : ""));
}

LayerRouting part_of(const LayerRouting& routing, Slice part) {
  LayerRouting of_part{routing.layer, routing.experts, routing.tokens, routing.micro_batch};
  if (routing.by_part.size() == static_cast<std::size_t>(part.count)) {
    of_part.tokens = routing.by_part[part.index];
    return of_part;
  }
  of_part.alike = routing.alike;
  for (auto& row : of_part.tokens) take_share(row, part.index, part.count);
  return of_part;
}

Routing add_micro_batches(const Routing& routing) {
  Routing whole;
  for (const LayerRouting& part : routing.layers) {
    const auto same = std::find_if(whole.layers.begin(), whole.layers.end(),
                                   [&](const auto& other) { return other.layer == part.layer; });
    if (same == whole.layers.end()) {
      whole.layers.push_back(part);
      whole.layers.back().micro_batch = 0;
      whole.layers.back().by_part.clear();
      continue;
    }
    if (part.asked.empty()) same->asked.clear();  // not recorded in every micro-batch
    for (std::size_t rank = 0; rank < part.tokens.size(); ++rank) {  // alike in both
      for (std::size_t e = 0; e < part.tokens[rank].size(); ++e) {
        same->tokens[rank][e] += part.tokens[rank][e];
        if (!same->asked.empty()) same->asked[rank][e] += part.asked.at(rank).at(e);
      }
    }
  }
  return whole;
}

Routing share_among_micro_batches(const Routing& whole, int micro_batches) {
  Routing routing;
  for (int i = 0; i < micro_batches; ++i) {
    for (LayerRouting layer : whole.layers) {
      layer.micro_batch = i;
      layer.asked.clear();  // each micro-batch has its own capacity
      for (auto& row : layer.tokens) take_share(row, i, micro_batches);
      routing.layers.push_back(std::move(layer));
    }
  }
  return routing;
}

LayerRouting uniform_routing(int layer, int ranks, int experts, std::int64_t copies) {
  check_sizes(ranks, experts, copies);
  std::vector<std::int64_t> row(experts, copies / experts);
  for (std::int64_t e = 0; e < copies % experts; ++e) ++row[e];
  return {layer, experts, std::vector<std::vector<std::int64_t>>(ranks, row), 0};
}

LayerRouting weighted_routing(int layer, int ranks, std::vector<double> weights,
                              std::int64_t copies, std::optional<std::int64_t> most) {
  const int experts = static_cast<int>(weights.size());
  check_sizes(ranks, experts, copies);
  const std::int64_t cap = most.value_or(copies);
  if (copies > cap * experts) {
    throw std::invalid_argument(fmt::format(
        "routing: {} copies, {} experts that take at most {} each", copies, experts, cap));
  }
  // Copies beyond the room of the most popular experts go to the others, in proportion.
  std::vector<std::int64_t> row(static_cast<std::size_t>(experts), 0);
  std::int64_t left = copies;
  for (bool full = true; full && left > 0;) {
    const std::vector<std::int64_t> shares = apportion(weights, left);
    full = false;
    for (std::size_t e = 0; e < row.size(); ++e) {
      if (weights[e] == 0 || shares[e] < cap) continue;
      row[e] = cap;
      left -= cap;
      weights[e] = 0;
      full = true;
    }
    for (std::size_t e = 0; !full && e < row.size(); ++e) row[e] += shares[e];
  }
  return {layer, experts, std::vector<std::vector<std::int64_t>>(ranks, row), 0};
}

LayerRouting zipf_routing(int layer, int ranks, int experts, std::int64_t copies, double exponent,
                          std::uint64_t seed, std::optional<std::int64_t> most) {
  check_sizes(ranks, experts, copies);
  std::vector<double> weights(static_cast<std::size_t>(experts));
  for (int e = 0; e < experts; ++e) weights[e] = 1.0 / std::pow(e + 1.0, exponent);
  std::mt19937_64 generator(seed);
  for (int e = experts - 1; e > 0; --e) {
    std::swap(weights[e], weights[generator() % static_cast<std::uint64_t>(e + 1)]);
  }
  return weighted_routing(layer, ranks, std::move(weights), copies, most);
}

}  // namespace moe
