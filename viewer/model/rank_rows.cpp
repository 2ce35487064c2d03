#include "viewer/model/rank_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace viewer {

namespace {

constexpr int kRanksPerNode = 8;  // where the database does not say on which node a rank ran

// The number at the begin of `text`, which is cut off.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool is_chosen(const std::optional<std::vector<std::pair<int, int>>>& list, int rank) {
  return !list || list->empty() ||
         std::any_of(list->begin(), list->end(), [&](const std::pair<int, int>& interval) {
           return interval.first <= rank && rank <= interval.second;
         });
}

// Places of ledgers, the largest figure first; by number where there are no figures.
void sort_ledgers(std::vector<std::size_t>& places, std::span<const double> figures) {
  if (figures.empty()) return;
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return figures[a] > figures[b]; });
}

double mean_figure(const NodeRanks& node, std::span<const double> figures) {
  double sum = 0;
  for (const std::size_t place : node.ledgers) sum += figures[place];
  return sum / static_cast<double>(node.ledgers.size());
}

std::vector<NodeRanks> nodes_of(const Timeline& timeline, const std::map<int, int>& node_of,
                                const std::vector<std::size_t>& shown) {
  std::map<int, NodeRanks> nodes;
  for (const std::size_t place : shown) {
    const int rank = timeline.ledgers[place].rank;
    const auto known = node_of.find(rank);
    const int node = known == node_of.end() ? rank / kRanksPerNode : known->second;
    nodes[node].node = node;
    nodes[node].ledgers.push_back(place);
  }
  std::vector<NodeRanks> sorted;
  for (auto& [number, node] : nodes) sorted.push_back(std::move(node));
  return sorted;
}

// Each node, and below it the lanes of its ranks where it is opened.
void append_nodes(RankRows& rows, const RankChoice& choice, std::span<const double> figures,
                  const std::set<std::size_t>& placed) {
  std::vector<std::size_t> order(rows.nodes.size());
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
  if (!figures.empty()) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return mean_figure(rows.nodes[a], figures) > mean_figure(rows.nodes[b], figures);
    });
  }
  for (const std::size_t n : order) {
    rows.rows.push_back({true, n, false});
    if (!choice.opened.contains(rows.nodes[n].node)) continue;
    for (const std::size_t place : rows.nodes[n].ledgers) {
      if (!placed.contains(place)) rows.rows.push_back({false, place, false});
    }
  }
}

}  // namespace

const char* rank_order_name(RankOrder order) {
  switch (order) {
    case RankOrder::number:
      return "number";
    case RankOrder::idle:
      return "idle";
    case RankOrder::lateness:
      return "lateness";
    case RankOrder::load:
      return "load";
  }
  return "";
}

std::optional<std::vector<std::pair<int, int>>> parse_ranks(std::string_view text) {
  std::vector<std::pair<int, int>> intervals;
  std::string packed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(packed),
               [](char c) { return c != ' '; });
  std::string_view rest = packed;
  while (!rest.empty()) {
    const std::optional<int> first = take_number(rest);
    if (!first) return std::nullopt;
    std::optional<int> last = first;
    if (rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = take_number(rest);
      if (!last || *last < *first) return std::nullopt;
    }
    intervals.emplace_back(*first, *last);
    if (rest.empty()) break;
    if (!rest.starts_with(',') || rest.size() == 1) return std::nullopt;
    rest.remove_prefix(1);
  }
  return intervals;
}

RankRows all_ranks(const Timeline& timeline) {
  RankRows rows;
  for (std::size_t place = 0; place < timeline.ledgers.size(); ++place) {
    rows.rows.push_back({false, place, false});
    rows.ledgers.push_back(place);
  }
  return rows;
}

RankRows rank_rows(const Timeline& timeline, const std::map<int, int>& node_of,
                   const RankChoice& choice, std::span<const double> figures) {
  const auto list = parse_ranks(choice.ranks);
  std::vector<std::size_t> shown;
  for (std::size_t place = 0; place < timeline.ledgers.size(); ++place) {
    if (is_chosen(list, timeline.ledgers[place].rank)) shown.push_back(place);
  }
  sort_ledgers(shown, figures);
  RankRows rows;
  std::set<std::size_t> placed;
  // Pinned ranks stay in sight whatever the list says.
  for (std::size_t place = 0; place < timeline.ledgers.size(); ++place) {
    if (!choice.pinned.contains(timeline.ledgers[place].rank)) continue;
    rows.rows.push_back({false, place, true});
    placed.insert(place);
  }
  rows.ledgers.assign(placed.begin(), placed.end());
  std::copy_if(shown.begin(), shown.end(), std::back_inserter(rows.ledgers),
               [&](std::size_t place) { return !placed.contains(place); });
  if (choice.by_node) {
    rows.nodes = nodes_of(timeline, node_of, shown);
    append_nodes(rows, choice, figures, placed);
    return rows;
  }
  for (const std::size_t place : std::span(rows.ledgers).subspan(placed.size())) {
    rows.rows.push_back({false, place, false});
  }
  return rows;
}

std::string ranks_text(std::span<const int> ranks) {
  std::vector<int> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", sorted[i]);
    if (last > i) text += fmt::format("-{}", sorted[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace viewer
