#include "moe/rows/routing_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
constexpr double kMostCount = 1e12;                          // a file of them adds up to 2^63

/// Throws unless the row has as many experts as those before it.
void expect_experts(const InputValue& row, std::size_t experts, std::size_t first) {
  if (experts > 0 && experts == first) return;
  row.fail(fmt::format("as many experts as in the first row, {}, at least 1", first));
}

/// [rank][expert], as they stand in a file of counts of any total.
using Counts = std::vector<std::vector<double>>;

Counts read_counts(const std::vector<InputValue>& ranks) {
  Counts rows;
  for (const InputValue& rank : ranks) {
    std::vector<double>& row = rows.emplace_back();
    for (const InputValue& count : rank.list("a list of counts, one for each expert")) {
      row.push_back(count.number(0, kMostCount, "a count from 0 to 1e12"));
    }
    expect_experts(rank, row.size(), rows.front().size());
  }
  return rows;
}

/// Gives the layers of a file their counts. Where some are no whole numbers, as means of several
/// steps are not, all are multiplied alike.
void take_counts(const std::vector<Counts>& of_layers, RoutingFile& file) {
  double most = 0;  // of a layer
  for (const Counts& rows : of_layers) {
    double total = 0;
    for (const auto& row : rows) {
      total += std::accumulate(row.begin(), row.end(), 0.0);
      file.whole = file.whole && std::ranges::all_of(
                                     row, [](double count) { return count == std::floor(count); });
    }
    most = std::max(most, total);
  }
  const double factor = file.whole ? 1 : kMostCount / most;
  for (std::size_t i = 0; i < of_layers.size(); ++i) {
    for (const auto& row : of_layers[i]) {
      std::vector<std::int64_t>& counts = file.routing.layers[i].tokens.emplace_back();
      for (const double count : row) counts.push_back(std::llround(count * factor));
    }
  }
}

std::vector<InputValue> rows_of(const InputObject& layer, std::string_view key) {
  std::vector<InputValue> rows = layer.list(key, "a list per rank, of a count per expert");
  if (rows.empty()) layer.refuse(key, "expected at least one rank, got none");
  return rows;
}

/// [rank][expert], in copies.
RowsOfRanks read_copies(const InputObject& layer, std::string_view key) {
  RowsOfRanks rows;
  std::int64_t copies = 0;  // at most 2^20 of at most 2^32 each
  for (const InputValue& rank : rows_of(layer, key)) {
    const auto& row = rows.emplace_back(rank.integers(0, kMostCopies));
    expect_experts(rank, row.size(), rows.front().size());
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

/// `counts`: of the layers of any total; their layers take them later.
LayerRouting read_layer(const InputObject& object, bool any_total, std::vector<Counts>& counts) {
  LayerRouting layer;
  layer.layer = static_cast<int>(object.integer("layer", 0, kMostLayer));
  if (object.has("micro_batch")) {
    layer.micro_batch = static_cast<int>(object.integer("micro_batch", 0, kMostMicroBatch));
  }
  if (any_total) {
    counts.push_back(read_counts(rows_of(object, "counts")));
    layer.experts = static_cast<int>(counts.back().front().size());
  } else {
    layer.tokens = read_copies(object, "tokens");
    if (object.has("asked")) layer.asked = read_asked(object, layer.tokens);
    layer.experts = static_cast<int>(layer.tokens.front().size());
  }
  return layer;
}

/// A list per MoE layer, of a count per expert.
RoutingFile read_layers_by_place(const InputDocument& document) {
  RoutingFile file{.any_total = true, .by_place = true};
  std::vector<Counts> counts;
  for (const InputValue& row : document.root().list("a list per MoE layer")) {
    counts.push_back(read_counts({row}));
    LayerRouting& layer = file.routing.layers.emplace_back();
    layer.layer = static_cast<int>(counts.size()) - 1;
    layer.experts = static_cast<int>(counts.back().front().size());
    expect_experts(row, counts.back().front().size(), counts.front().front().size());
  }
  if (counts.empty()) document.root().fail("a list per MoE layer, of a count per expert");
  take_counts(counts, file);
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
  std::vector<Counts> counts;
  std::map<int, std::pair<std::size_t, int>> sizes;  // [layer]: its ranks and experts
  for (const InputValue& entry : object.list("layers", "a list of layers")) {
    const InputObject of_layer = entry.object();
    const bool any_total = of_layer.has("counts");
    if (layers.empty()) file.any_total = any_total;
    if (any_total != file.any_total) {
      of_layer.refuse("counts", "expected \"counts\" in all layers, or \"tokens\" in all");
    }
    LayerRouting layer = read_layer(of_layer, any_total, counts);
    if (!layers.insert({layer.layer, layer.micro_batch}).second) {
      of_layer.refuse("layer", "this layer is there twice");
    }
    const std::pair size(any_total ? counts.back().size() : layer.tokens.size(), layer.experts);
    const auto& first = sizes.emplace(layer.layer, size).first->second;
    if (size != first) {
      of_layer.refuse(any_total ? "counts" : "tokens",
                      fmt::format("{} ranks of {} experts: expected {} of {}, as in another "
                                  "micro-batch of layer {}",
                                  size.first, size.second, first.first, first.second, layer.layer));
    }
    file.routing.layers.push_back(std::move(layer));
  }
  take_counts(counts, file);
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
