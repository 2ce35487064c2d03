#include "moe/program/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>

namespace moe {
namespace {

void check_sizes(int ranks, int experts, std::int64_t copies) {
  if (ranks < 1 || experts < 1 || copies < 0)
    throw std::invalid_argument(
        fmt::format("routing: {} ranks, {} experts, {} copies", ranks, experts, copies));
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

}  // namespace

const LayerRouting& layer_of(const Routing& routing, int layer) {
  for (const LayerRouting& candidate : routing.layers)
    if (candidate.layer == layer) return candidate;
  throw std::out_of_range(fmt::format("no routing for layer {}", layer));
}

LayerRouting uniform_routing(int layer, int ranks, int experts, std::int64_t copies) {
  check_sizes(ranks, experts, copies);
  std::vector<std::int64_t> row(experts, copies / experts);
  for (std::int64_t e = 0; e < copies % experts; ++e) ++row[e];
  return {layer, experts, std::vector<std::vector<std::int64_t>>(ranks, row)};
}

LayerRouting zipf_routing(int layer, int ranks, int experts, std::int64_t copies, double exponent,
                          std::uint64_t seed) {
  check_sizes(ranks, experts, copies);
  std::vector<double> weights(experts);
  for (int e = 0; e < experts; ++e) weights[e] = 1.0 / std::pow(e + 1.0, exponent);
  std::mt19937_64 generator(seed);
  for (int e = experts - 1; e > 0; --e)
    std::swap(weights[e], weights[generator() % static_cast<std::uint64_t>(e + 1)]);
  return {layer, experts,
          std::vector<std::vector<std::int64_t>>(ranks, apportion(weights, copies))};
}

double imbalance(const LayerRouting& routing) {
  std::vector<std::int64_t> per_expert(routing.experts);
  for (const auto& row : routing.tokens)
    for (int e = 0; e < routing.experts; ++e) per_expert[e] += row[e];
  const std::int64_t total = std::accumulate(per_expert.begin(), per_expert.end(), std::int64_t{0});
  if (total == 0) return 1;
  return static_cast<double>(*std::max_element(per_expert.begin(), per_expert.end())) *
         routing.experts / static_cast<double>(total);
}

std::string to_json(const Routing& routing) {
  nlohmann::json layers = nlohmann::json::array();
  for (const LayerRouting& layer : routing.layers)
    layers.push_back({{"layer", layer.layer}, {"tokens", layer.tokens}});
  return nlohmann::json{{"layers", layers}}.dump();
}

Routing routing_from_json(std::string_view text) {
  try {
    Routing routing;
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const nlohmann::json& entry : json.at("layers")) {
      LayerRouting layer;
      layer.layer = entry.at("layer").get<int>();
      layer.tokens = entry.at("tokens").get<std::vector<std::vector<std::int64_t>>>();
      if (layer.tokens.empty()) throw std::invalid_argument("a layer without source ranks");
      layer.experts = static_cast<int>(layer.tokens.front().size());
      for (const auto& row : layer.tokens) {
        if (static_cast<int>(row.size()) != layer.experts)
          throw std::invalid_argument(fmt::format("layer {}: rows of {} and {} experts",
                                                  layer.layer, layer.experts, row.size()));
        if (std::any_of(row.begin(), row.end(), [](std::int64_t n) { return n < 0; }))
          throw std::invalid_argument(fmt::format("layer {}: a negative count", layer.layer));
      }
      routing.layers.push_back(std::move(layer));
    }
    return routing;
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(fmt::format(
        R"(routing: expected {{"layers": [{{"layer": 1, "tokens": [[..per expert..], ..per rank..]}}]}}: {})",
        error.what()));
  }
}

}  // namespace moe
