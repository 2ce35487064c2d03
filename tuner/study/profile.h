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

/// The costs and the cluster of a machine, worked out from stored runs.
struct Profile {
  CostedCluster machine;
  moe::Groups groups;
  /// (predicted - measured) / measured, by run and profiled iteration. With later runs, all are
  /// predicted at the pace of these.
  std::vector<std::vector<double>> errors;
  std::vector<moe::Routing> routings;  ///< routings of the first run's iterations, without warm-up
};

/// The ranks of a run that compute on the same cores, and how many of them have enough cores for
/// their threads at once. Empty for ranks on GPUs, and for runs that did not store it.
std::vector<SharedProcessors> shared_processors(const std::vector<db::RunRank>& ranks);

/// Calibrates from every measured timeline of these training runs of `model` (calibrate.h), without
/// warm-up iterations where there are others. Runs that were measured later, as trials are, count
/// as much, but computation takes as long as in these (costs/pace.h), and the deviation is theirs
/// alone. alpha(y, all) that the timelines do not tell is taken from `moe-bench interference`,
/// where it has measured on this computer and device with ranks on nodes in the same way and with
/// an equally fast network. Gives at most 16 routings, evenly spread over the run. Throws db::Error
/// where a run or its timelines are missing, and moe::InputError where the runs differ in ranks.
Profile profile_from_runs(const db::Connection& connection, const moe::Model& model,
                          std::string_view layout, const std::vector<std::int64_t>& run_ids,
                          const std::vector<std::int64_t>& later_runs = {});

/// The decisions of a stored training, as moe::decisions_json gives them; "" where no schedule is
/// stored.
std::string decisions_of_run(const db::Connection& connection, std::int64_t run_id);

}  // namespace tuner
