#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "moe/model/model.h"
#include "moe/program/timeline.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"

namespace tuner {

/// What a machine showed in stored runs: its costs and its shape.
struct Profile {
  CostedCluster machine;
  moe::Groups groups;
  /// (predicted - measured) / measured, by run and profiled iteration.
  std::vector<std::vector<double>> errors;
  std::vector<moe::Routing> routings;  ///< of the first run's iterations, the first ones left out
};

/// Which ranks of a run compute on the same cores, and how many of them have enough for their threads at one
/// time. Nothing of ranks on GPUs, and of runs that did not store it.
std::vector<SharedProcessors> shared_processors(const std::vector<db::RunRank>& ranks);

/// Calibrates from every measured timeline of these training runs of `model` (calibrate.h), but those of warm-up
/// iterations where there are others. Speeds beside all else are those that `moe-bench interference` has measured on
/// this computer and device with ranks on nodes as these, whose network was as fast, if it has. At most 16 routings,
/// evenly spread over the run. Throws db::Error where a run or its timelines are missing, moe::InputError where the
/// runs differ in ranks.
Profile profile_from_runs(const db::Connection& connection, const moe::Model& model,
                          std::string_view layout, const std::vector<std::int64_t>& run_ids);

/// The decisions of a stored training, as moe::decisions_json gives them; "" where it has none stored.
std::string decisions_of_run(const db::Connection& connection, std::int64_t run_id);

/// A stored timeline as the runner made it. Spans by rank and op.
moe::Timeline load_op_timeline(const db::Connection& connection, const db::Timeline& timeline,
                               int ranks, std::size_t ops);

}  // namespace tuner
