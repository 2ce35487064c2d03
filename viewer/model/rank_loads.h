#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/records.h"

/// What ranks had to compute, and where experts were. No drawing here.
namespace viewer {

/// The rows of one layer in one iteration, by rank.
struct LayerRanks {
  std::vector<db::RankLoad> loads;      ///< one per rank; empty where they are not stored
  std::vector<db::ExpertPlace> places;  ///< empty where no expert was replicated or moved
};

/// The rows of a run, by iteration, layer and rank.
struct RankLoads {
  std::vector<db::RankLoad> loads;
  std::vector<db::ExpertPlace> places;

  bool empty() const { return loads.empty(); }
  LayerRanks of(int iteration, int layer) const;
};

/// The most tokens of a rank over the mean of all ranks; 0 where there are none.
double max_over_mean(const std::vector<std::int64_t>& tokens);

/// A line for each replicated expert: "expert 5 of rank 1, also on 0 and 3".
std::vector<std::string> replica_lines(const LayerRanks& layer);

/// The experts of a rank: "experts 0, 1, 2, 3; replicas of 9". Empty where they are not stored.
std::string experts_text(const LayerRanks& layer, int rank);

}  // namespace viewer
