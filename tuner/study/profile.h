#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "moe/model/model.h"
#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_parts.h"
#include "tuner/machine/deviation.h"
#include "tuner/study/measured_runs.h"

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

/// The groups of a layout of the ranks of a stored run, on their nodes and network cards. Throws
/// db::Error where the run does not tell of all its ranks.
moe::Groups groups_of_run(const db::Connection& connection, const db::Run& run,
                          std::string_view layout);

/// Training runs of a model, as they are stored.
struct ProfiledRuns {
  std::string device;
  std::string network;  ///< db/network.h
  moe::Groups groups;
  std::vector<SharedProcessors> shared;
  MeasuredRuns measured;
  std::vector<RunErrors> judged;  ///< the last of the runs, whose errors say how sure costs are
  std::vector<moe::Routing> routings;  ///< as in Profile
};

/// Reads every measured timeline of these training runs of `model`, without warm-up iterations where
/// there are others. Each is read in its own layout; groups and routings are of `layout`
/// (carried_routing.h). The runs of `trials` count as much; where there are any, they alone are judged.
///
/// Gives at most 16 routings, evenly spread over the run. Throws db::Error where a run or its
/// timelines are missing, and moe::InputError where the runs differ in ranks.
ProfiledRuns read_profiled_runs(const db::Connection& connection, const moe::Model& model,
                                std::string_view layout, const std::vector<std::int64_t>& run_ids,
                                const std::vector<std::int64_t>& trials = {});

/// Their costs (calibrate.h) with these parts, and the machine. `errors` are left empty.
Profile profile_of(const ProfiledRuns& read, const CostParts& parts = {});

/// The profile of stored runs, with its errors and CostModel::deviation. Throws as
/// read_profiled_runs().
Profile profile_from_runs(const db::Connection& connection, const moe::Model& model,
                          std::string_view layout, const std::vector<std::int64_t>& run_ids,
                          const std::vector<std::int64_t>& trials = {});

/// The same costs for `to`, the iteration of the model in another layout than the profile's, `from`, with
/// routings carried over (carried_routing.h). It has no errors and no remark.
Profile carried_profile(const Profile& profile, const moe::Program& from, moe::Program to);

/// The decisions of a stored training, as moe::decisions_json gives them; "" where no schedule is
/// stored.
std::string decisions_of_run(const db::Connection& connection, std::int64_t run_id);

}  // namespace tuner
