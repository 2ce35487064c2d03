#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/records.h"

/// Tokens per iteration, MoE layer and expert. No drawing here.
namespace viewer {

/// Dense table of loads summed over source ranks. Rows that are not in the database are zero.
struct LoadTable {
  std::vector<int> iterations;  ///< the recorded ones, ascending
  std::vector<int> layers;      ///< ascending numbers of the MoE layers
  int experts = 0;
  std::vector<std::int64_t> tokens;  ///< [iteration][layer][expert], iteration slowest

  bool empty() const { return tokens.empty(); }
  std::int64_t at(std::size_t iteration, std::size_t layer, std::size_t expert) const;
  /// The entry that `share` of all entries do not exceed; 0 for an empty table.
  std::int64_t quantile(double share) const;
};

/// Mean number of tokens of an expert, at a place in `iterations` and `layers`.
double mean_tokens(const LoadTable& table, std::size_t iteration, std::size_t layer);

/// The tokens that experts got, or those that the gates asked for before the ones over capacity
/// were dropped.
enum class LoadBasis { kept, asked };

/// Skips rows of experts that no model can have: a row of a damaged file could take all memory.
/// The table of asked tokens is empty where a row does not tell them.
LoadTable build_load_table(const std::vector<db::Load>& rows, LoadBasis basis = LoadBasis::kept);

}  // namespace viewer
