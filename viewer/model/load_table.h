#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/records.h"

/// Tokens per iteration, MoE layer and expert, and how evenly they are spread. No drawing here.
namespace viewer {

/// Dense table of loads summed over source ranks. Rows that are not in the database are zero.
struct LoadTable {
  std::vector<int> iterations;  ///< ascending, those that were recorded
  std::vector<int> layers;      ///< ascending numbers of the MoE layers
  int experts = 0;
  std::vector<std::int64_t> tokens;  ///< [iteration][layer][expert], iteration slowest

  bool empty() const { return tokens.empty(); }
  std::int64_t at(std::size_t iteration, std::size_t layer, std::size_t expert) const;
  /// The entry that `share` of all entries do not exceed; 0 for an empty table.
  std::int64_t quantile(double share) const;
};

/// Passes over rows of experts that no model can have: one of a damaged file would take all memory.
LoadTable build_load_table(const std::vector<db::Load>& rows);

/// How evenly one layer's tokens are spread over its experts in one iteration.
struct Balance {
  std::int64_t total = 0;
  std::int64_t most = 0;
  double mean = 0;
  double max_over_mean = 0;  ///< 1 = even; 0 where there were no tokens
  double deviation = 0;      ///< population standard deviation, tokens
  int unused = 0;            ///< experts without a token
};

/// Indices, not numbers, of iteration and layer.
Balance balance(const LoadTable& table, std::size_t iteration, std::size_t layer);

}  // namespace viewer
