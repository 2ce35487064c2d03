#include "viewer/model/rank_loads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace viewer {

namespace {

// The rows of a list, sorted by iteration and layer, that are of one layer in one iteration.
template <class Row>
std::vector<Row> rows_of(const std::vector<Row>& rows, int iteration, int layer) {
  const auto key = [](const Row& row) { return std::pair(row.iteration, row.layer); };
  const std::pair wanted(iteration, layer);
  const auto first = std::partition_point(rows.begin(), rows.end(),
                                          [&](const Row& row) { return key(row) < wanted; });
  const auto last =
      std::partition_point(first, rows.end(), [&](const Row& row) { return key(row) == wanted; });
  return {first, last};
}

std::string listed(const std::vector<int>& numbers) {
  if (numbers.size() < 2) return fmt::format("{}", fmt::join(numbers, ""));
  return fmt::format("{} and {}", fmt::join(numbers.begin(), numbers.end() - 1, ", "),
                     numbers.back());
}

}  // namespace

LayerRanks RankLoads::of(int iteration, int layer) const {
  return {rows_of(loads, iteration, layer), rows_of(places, iteration, layer)};
}

double max_over_mean(const std::vector<std::int64_t>& tokens) {
  double sum = 0, most = 0;
  for (const std::int64_t of : tokens) {
    sum += static_cast<double>(of);
    most = std::max(most, static_cast<double>(of));
  }
  return sum > 0 ? most * static_cast<double>(tokens.size()) / sum : 0;
}

std::vector<std::string> replica_lines(const LayerRanks& layer) {
  struct Ranks {
    std::vector<int> homes, holders;
  };
  std::map<int, Ranks> by_expert;
  for (const db::ExpertPlace& place : layer.places) {
    Ranks& of = by_expert[place.expert];
    (place.replica == 0 ? of.homes : of.holders).push_back(place.rank);
  }
  std::vector<std::string> lines;
  for (const auto& [expert, ranks] : by_expert) {
    if (ranks.holders.empty()) continue;
    lines.push_back(fmt::format("expert {} of rank{} {}, also on {}", expert,
                                ranks.homes.size() == 1 ? "" : "s", listed(ranks.homes),
                                listed(ranks.holders)));
  }
  return lines;
}

std::string experts_text(const LayerRanks& layer, int rank) {
  std::vector<int> own, replicas;
  for (const db::ExpertPlace& place : layer.places) {
    if (place.rank == rank) (place.replica == 0 ? own : replicas).push_back(place.expert);
  }
  std::string text;
  if (!own.empty()) text = fmt::format("experts {}", fmt::join(own, ", "));
  if (replicas.empty()) return text;
  return fmt::format("{}{}replicas of {}", text, text.empty() ? "" : "; ",
                     fmt::join(replicas, ", "));
}

}  // namespace viewer
