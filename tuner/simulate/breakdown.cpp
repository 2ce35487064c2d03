#include "tuner/simulate/breakdown.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tuner {
namespace {

/// Ops of one row, and where the first of them stands.
struct Rows {
  std::vector<BreakdownRow> rows;
  std::vector<std::size_t> row_of;  ///< [op]
};

Rows rows_of(const moe::Program& program) {
  Rows result;
  std::map<std::tuple<int, moe::Phase, std::string, moe::Stream>, std::size_t> places;
  for (const moe::Op& op : program.ops) {
    const auto [place, is_new] =
        places.try_emplace({op.layer, op.phase, op.name, op.stream}, result.rows.size());
    if (is_new) {
      result.rows.push_back({.layer = op.layer,
                             .phase = op.phase,
                             .op = op.name,
                             .kind = std::string(moe::kind_name(op)),
                             .stream = op.stream});
    }
    result.row_of.push_back(place->second);
  }
  return result;
}

void add_shares(std::vector<BreakdownRow>& rows) {
  std::map<std::pair<int, moe::Phase>, double> sums;
  for (const BreakdownRow& row : rows) sums[{row.layer, row.phase}] += row.time_s;
  for (BreakdownRow& row : rows) {
    const double sum = sums[{row.layer, row.phase}];
    if (sum > 0) row.of_layer_share = row.time_s / sum;
  }
}

}  // namespace

std::vector<BreakdownRow> breakdown(const moe::Program& program, const moe::Timeline& timeline) {
  auto [rows, row_of] = rows_of(program);
  std::vector<double> alike(timeline.ranks.size(), timeline.like.empty() ? 1 : 0);
  for (const int list : timeline.like) alike[list] += 1;
  for (std::size_t list = 0; list < timeline.ranks.size(); ++list) {
    std::vector<std::int64_t> calls(rows.size());
    std::vector<double> seconds(rows.size());
    for (const moe::OpSpan& span : timeline.ranks[list]) {
      ++calls[row_of[span.op]];
      seconds[row_of[span.op]] += span.duration_s;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].calls = std::max(rows[i].calls, calls[i]);
      rows[i].time_s += seconds[i] * alike[list] / moe::rank_count(timeline);
      rows[i].longest_rank_s = std::max(rows[i].longest_rank_s, seconds[i]);
    }
  }
  std::erase_if(rows, [](const BreakdownRow& row) { return row.calls == 0; });
  std::ranges::stable_sort(rows, {},
                           [](const BreakdownRow& row) { return std::pair(row.layer, row.phase); });
  add_shares(rows);
  return std::move(rows);
}

}  // namespace tuner
