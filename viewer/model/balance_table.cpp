#include "viewer/model/balance_table.h"

#include <algorithm>
#include <optional>
#include <set>

namespace viewer {

namespace {

std::optional<std::size_t> place(const std::vector<int>& sorted, int value) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (at == sorted.end() || *at != value) return std::nullopt;
  return static_cast<std::size_t>(at - sorted.begin());
}

}  // namespace

const db::BalanceOverview& BalanceTable::at(std::size_t iteration, std::size_t layer) const {
  return rows[iteration * layers.size() + layer];
}

const db::BalanceOverview& BalanceTable::of(int iteration, int layer) const {
  static const db::BalanceOverview none;
  const auto i = place(iterations, iteration), l = place(layers, layer);
  return i && l ? at(*i, *l) : none;
}

BalanceTable build_balance_table(const std::vector<db::BalanceOverview>& rows) {
  std::set<int> iterations, layers;
  for (const db::BalanceOverview& row : rows) {
    iterations.insert(row.iteration);
    layers.insert(row.layer);
  }
  BalanceTable table{{iterations.begin(), iterations.end()}, {layers.begin(), layers.end()}, {}};
  table.rows.resize(table.iterations.size() * table.layers.size());
  for (const db::BalanceOverview& row : rows) {
    const std::size_t i = *place(table.iterations, row.iteration);
    table.rows[i * table.layers.size() + *place(table.layers, row.layer)] = row;
  }
  return table;
}

double mean_tokens(const db::BalanceOverview& row) {
  return static_cast<double>(row.tokens) / row.experts;
}

const db::BalanceOverview* least_even(const BalanceTable& table, std::size_t iteration) {
  const auto unevenness = [](const db::BalanceOverview& row) {
    return row.asked_max_over_mean.value_or(*row.max_over_mean);
  };
  const db::BalanceOverview* worst = nullptr;
  for (std::size_t layer = 0; layer < table.layers.size(); ++layer) {
    const db::BalanceOverview& row = table.at(iteration, layer);
    if (!row.max_over_mean) continue;
    if (worst == nullptr || unevenness(row) > unevenness(*worst)) worst = &row;
  }
  return worst;
}

}  // namespace viewer
