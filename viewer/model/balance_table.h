#pragma once

#include <cstddef>
#include <vector>

#include "db/load_views.h"

/// How evenly tokens were spread over experts and ranks. No drawing here.
namespace viewer {

/// Rows of balance_view by iteration and MoE layer.
struct BalanceTable {
  std::vector<int> iterations;  ///< ascending
  std::vector<int> layers;      ///< ascending numbers of the MoE layers
  /// [iteration][layer], iteration slowest; a row without figures where the database has none.
  std::vector<db::BalanceOverview> rows;

  bool empty() const { return rows.empty(); }
  /// The row at a place in `iterations` and `layers`.
  const db::BalanceOverview& at(std::size_t iteration, std::size_t layer) const;
  /// The row of an iteration and layer by number; one without figures where there is none.
  const db::BalanceOverview& of(int iteration, int layer) const;
};

BalanceTable build_balance_table(const std::vector<db::BalanceOverview>& rows);

/// Mean number of tokens of an expert.
double mean_tokens(const db::BalanceOverview& row);

/// The row of the layer whose fullest expert stands farthest above the mean, at a place in
/// `iterations`; null where no row tells. Of what gates asked for where that is stored: a capacity
/// makes any layer look even.
const db::BalanceOverview* least_even(const BalanceTable& table, std::size_t iteration);

}  // namespace viewer
