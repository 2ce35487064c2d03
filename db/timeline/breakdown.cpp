#include "db/timeline/breakdown.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace db {
namespace {

int phase_order(const std::string& phase) {
  constexpr std::array<std::string_view, 3> kOrder = {"forward", "backward", "update"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), phase) - kOrder.begin());
}

std::pair<int, int> layer_and_phase(const BreakdownRow& row) {
  return {row.sample.layer, phase_order(row.sample.phase)};
}

void add_shares(std::vector<BreakdownRow>& rows) {
  std::map<std::pair<int, int>, double> sums;
  for (const BreakdownRow& row : rows) sums[layer_and_phase(row)] += row.time_s;
  for (BreakdownRow& row : rows) {
    const double sum = sums[layer_and_phase(row)];
    if (sum > 0) row.of_layer_share = row.time_s / sum;
  }
}

}  // namespace

std::vector<BreakdownRow> breakdown(const Timeline& timeline) {
  std::vector<BreakdownRow> rows;
  std::vector<std::size_t> row_of;  // [op]
  std::map<std::tuple<int, std::string, std::string, std::string>, std::size_t> places;
  for (const TimelineOp& op : timeline.ops) {
    const auto [place, is_new] =
        places.try_emplace({op.layer, op.phase, op.name, op.stream}, rows.size());
    if (is_new) rows.push_back({.sample = op});
    row_of.push_back(place->second);
  }
  const std::vector<const TimeLedger*> ranks = ledgers_by_rank(timeline);
  for (const TimeLedger& ledger : timeline.ledgers) {
    const auto alike = static_cast<double>(std::count(ranks.begin(), ranks.end(), &ledger));
    std::vector<std::int64_t> calls(rows.size());
    std::vector<double> seconds(rows.size());
    for (const Lane& lane : lanes_of(timeline, ledger)) {
      for (const LaneSpan& span : lane.spans) {
        const std::size_t row = row_of[static_cast<std::size_t>(span.op)];
        ++calls[row];
        seconds[row] += span.duration_s();
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].calls = std::max(rows[i].calls, calls[i]);
      rows[i].time_s += seconds[i] * alike / static_cast<double>(ranks.size());
      rows[i].longest_rank_s = std::max(rows[i].longest_rank_s, seconds[i]);
    }
  }
  std::erase_if(rows, [](const BreakdownRow& row) { return row.calls == 0; });
  std::ranges::stable_sort(rows, {}, layer_and_phase);
  add_shares(rows);
  return rows;
}

}  // namespace db
