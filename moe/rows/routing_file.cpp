#include "moe/rows/routing_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/input/json.h"

namespace moe {
namespace {

using RowsOfRanks = std::vector<std::vector<std::int64_t>>;

constexpr int kMostLayer = 9999;  // far more than models have blocks
constexpr int kMostMicroBatch = 9999;
constexpr std::int64_t kMostCopies = std::int64_t{1} << 32;  // two of each of 2^31 tokens
constexpr std::int64_t kMostCount = 1'000'000'000'000;       // a file of them adds up to 2^63

/// A row: a count per expert, of which there are as many as in the first row.
std::vector<std::int64_t> read_row(const InputValue& row, const RowsOfRanks& before,
                                   std::int64_t most) {
  std::vector<std::int64_t> counts = row.integers(0, most);
  const std::size_t experts = before.empty() ? counts.size() : before.front().size();
  if (counts.empty() || counts.size() != experts) {
    row.fail(fmt::format("as many experts as in the first row, {}, at least 1", experts));
  }
  return counts;
}

/// [rank][expert], of any total.
RowsOfRanks read_rows(const InputObject& layer, std::string_view key, std::int64_t most) {
  RowsOfRanks rows;
  for (const InputValue& row : layer.list(key, "a list per rank, of a count per expert")) {
    rows.push_back(read_row(row, rows, most));
  }
  if (rows.empty()) layer.refuse(key, "expected at least one rank, got none");
  return rows;
}

/// [rank][expert], in copies.
RowsOfRanks read_copies(const InputObject& layer, std::string_view key) {
  RowsOfRanks rows = read_rows(layer, key, kMostCopies);
  std::int64_t copies = 0;  // at most 2^20 of at most 2^32 each
  for (const auto& row : rows) {
    copies += std::accumulate(row.begin(), row.end(), std::int64_t{0});
    if (copies > kMostCopies) {
      layer.refuse(key, fmt::format("expected at most {} copies in a layer", kMostCopies));
    }
  }
  return rows;
}

/// What was asked for, of which `kept` travelled.
RowsOfRanks read_asked(const InputObject& layer, const RowsOfRanks& kept) {
  RowsOfRanks asked = read_copies(layer, "asked");
  if (asked.size() != kept.size() || asked.front().size() != kept.front().size()) {
    layer.refuse("asked", fmt::format("expected {} ranks of {} experts, as in tokens", kept.size(),
                                      kept.front().size()));
  }
  for (std::size_t rank = 0; rank < kept.size(); ++rank) {
    for (std::size_t e = 0; e < kept[rank].size(); ++e) {
      if (asked[rank][e] >= kept[rank][e]) continue;
      layer.refuse("asked",
                   fmt::format("rank {} asked expert {} for {} copies: expected at least the {} of "
                               "tokens, which travelled",
                               rank, e, asked[rank][e], kept[rank][e]));
    }
  }
  return asked;
}

LayerRouting read_layer(const InputObject& object, bool any_total) {
  LayerRouting layer;
  layer.layer = static_cast<int>(object.integer("layer", 0, kMostLayer));
  if (object.has("micro_batch")) {
    layer.micro_batch = static_cast<int>(object.integer("micro_batch", 0, kMostMicroBatch));
  }
  if (any_total) {
    layer.tokens = read_rows(object, "counts", kMostCount);
  } else {
    layer.tokens = read_copies(object, "tokens");
    if (object.has("asked")) layer.asked = read_asked(object, layer.tokens);
  }
  layer.experts = static_cast<int>(layer.tokens.front().size());
  return layer;
}

/// A list per MoE layer, of a count per expert.
RoutingFile read_layers_by_place(const InputDocument& document) {
  RoutingFile file{.any_total = true, .by_place = true};
  RowsOfRanks rows;
  for (const InputValue& row : document.root().list("a list per MoE layer")) {
    rows.push_back(read_row(row, rows, kMostCount));
    LayerRouting& layer = file.routing.layers.emplace_back();
    layer.layer = static_cast<int>(file.routing.layers.size()) - 1;
    layer.experts = static_cast<int>(rows.back().size());
    layer.tokens = {rows.back()};
  }
  if (rows.empty()) document.root().fail("a list per MoE layer, of a count per expert");
  return file;
}

RoutingFile read_named_layers(const InputDocument& document) {
  const InputObject object = document.object();
  RoutingFile file;
  if (const auto factor = object.optional_member("capacity_factor")) {
    file.capacity_factor =
        factor->number(std::numeric_limits<double>::min(), 1e6, "a capacity factor above 0");
  }
  if (object.has("capacity_groups")) {
    file.capacity_groups =
        static_cast<int>(object.integer("capacity_groups", 0, std::numeric_limits<int>::max()));
  }
  std::set<RoutedLayer> layers;
  std::map<int, std::pair<std::size_t, int>> sizes;  // [layer]: its ranks and experts
  for (const InputValue& entry : object.list("layers", "a list of layers")) {
    const InputObject of_layer = entry.object();
    const bool any_total = of_layer.has("counts");
    if (layers.empty()) file.any_total = any_total;
    if (any_total != file.any_total) {
      of_layer.refuse("counts", "expected \"counts\" in all layers, or \"tokens\" in all");
    }
    LayerRouting layer = read_layer(of_layer, any_total);
    if (!layers.insert({layer.layer, layer.micro_batch}).second) {
      of_layer.refuse("layer", "this layer is there twice");
    }
    const std::pair size(layer.tokens.size(), layer.experts);
    const auto& first = sizes.emplace(layer.layer, size).first->second;
    if (size != first) {
      of_layer.refuse(any_total ? "counts" : "tokens",
                      fmt::format("{} ranks of {} experts: expected {} of {}, as in another "
                                  "micro-batch of layer {}",
                                  size.first, size.second, first.first, first.second, layer.layer));
    }
    file.routing.layers.push_back(std::move(layer));
  }
  if (file.any_total && object.has("choices")) {
    file.choices = static_cast<int>(object.integer("choices", 1, std::numeric_limits<int>::max()));
  }
  return file;
}

}  // namespace

std::string to_json(const Routing& routing) {
  nlohmann::json layers = nlohmann::json::array();
  for (const LayerRouting& layer : with_all_rows(routing).layers) {
    layers.push_back({{"layer", layer.layer}, {"tokens", layer.tokens}});
    if (layer.micro_batch > 0) layers.back()["micro_batch"] = layer.micro_batch;
    if (!layer.asked.empty()) layers.back()["asked"] = layer.asked;
  }
  return nlohmann::json{{"layers", layers}}.dump();
}

Routing routing_from_json(std::string_view text, const std::string& name) {
  RoutingFile file = routing_file_from_json(text, name);
  if (file.any_total) {
    throw InputError(fmt::format("{}: has counts of any total: expected \"tokens\"", name));
  }
  return std::move(file.routing);
}

RoutingFile routing_file_from_json(std::string_view text, const std::string& name) {
  const InputDocument document = parse_json(text, name);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_list = first != std::string_view::npos && text[first] == '[';
  RoutingFile file = is_list ? read_layers_by_place(document) : read_named_layers(document);
  document.no_other_keys();
  return file;
}

}  // namespace moe
