#pragma once

#include <cstdint>
#include <string>

#include "db/connection.h"
#include "db/records.h"

namespace viewer {

/// What fill_synthetic_database made.
struct SyntheticIds {
  std::int64_t sequential_run =
      0;  ///< train: 200 iterations, loads, a measured and a predicted timeline
  std::int64_t pipelined_run = 0;  ///< the same in chunks
  std::int64_t failed_run = 0;
  std::int64_t study_run = 0;
  std::int64_t best_trial = 0;
};

/// Fills an empty database with what a week of work leaves: training runs with losses and loads, a
/// failed and a running one, a benchmark, a study with trials, timelines of all of them. The same
/// at every call.
SyntheticIds fill_synthetic_database(db::Connection& connection);

/// A setup of a search of these ranks; its whole peak is parameters.
db::PredictedSetup synthetic_setup(const SyntheticIds& ids, int ranks, int place,
                                   const std::string& layout, double time_s, std::int64_t bytes);

/// Adds a search on a cluster: three setups of 4 ranks, of which the second is on no front, and one
/// of 8 ranks. Returns the run.
std::int64_t add_search(db::Connection& connection);

/// Adds a training run on so many ranks, eight on a node, with a measured timeline whose ranks are
/// unlike each other. Returns the run.
std::int64_t add_wide_run(db::Connection& connection, int ranks);

}  // namespace viewer
