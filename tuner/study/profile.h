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
#include "tuner/costs/cost_parts.h"

namespace tuner {

/// The costs and the cluster of a machine, worked out from stored runs.
struct Profile {
  CostedCluster machine;
  moe::Groups groups;
  /// (predicted - measured) / measured, by run and profiled iteration.
  std::vector<std::vector<double>> errors;
  std::string remark;                  ///< what a person should know of the costs, or ""
  std::vector<moe::Routing> routings;  ///< routings of the first run's iterations, without warm-up
};

/// The ranks of a run that compute on the same cores, and how many of them have enough cores for
/// their threads at once. Empty for ranks on GPUs, and for runs that did not store it.
std::vector<SharedProcessors> shared_processors(const std::vector<db::RunRank>& ranks);

/// Which costs profile_from_runs() works out.
struct CostsAsked {
  CostParts parts = {};
  /// Whether the runs are predicted by them: Profile::errors, and how sure predictions are.
  bool with_errors = true;
};

/// Calibrates from every measured timeline of these training runs of `model` (calibrate.h), without
/// warm-up iterations where there are others. The runs of `trials` count as much; where there are
/// any, both deviations are of their errors alone.
///
/// Gives at most 16 routings, evenly spread over the run. Throws db::Error where a run or its
/// timelines are missing, and moe::InputError where the runs differ in ranks.
Profile profile_from_runs(const db::Connection& connection, const moe::Model& model,
                          std::string_view layout, const std::vector<std::int64_t>& run_ids,
                          const std::vector<std::int64_t>& trials = {},
                          const CostsAsked& asked = {});

/// The decisions of a stored training, as moe::decisions_json gives them; "" where no schedule is
/// stored.
std::string decisions_of_run(const db::Connection& connection, std::int64_t run_id);

}  // namespace tuner
