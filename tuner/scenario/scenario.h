#pragma once

#include <optional>
#include <string>

#include "moe/model/model.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/planners/planners.h"

namespace tuner {

/// What a user names on the command line to have something predicted.
struct ScenarioOptions {
  std::string model;         ///< name in experiments/models, or a TOML file
  std::string cluster;       ///< name in experiments/clusters, a TOML file, or "measured"
  std::string database;      ///< for "measured"
  std::optional<int> ranks;  ///< default: all of the cluster
  std::string layout;        ///< moe::parse_layout; "" = all experts over all ranks
  std::string routing = "uniform";
};

/// The same, loaded and checked against one another.
struct Scenario {
  moe::Model model;
  Cluster cluster;
  CostModel costs;
  moe::Groups groups;
  moe::Program program;  ///< not scheduled
  moe::Routing routing;

  Situation situation() const { return {program, groups, routing, costs, cluster}; }
};

/// "measured": the newest profile of a study of this model and number of ranks in the database, and
/// where there is none, the newest fits in it (moe-tune fit), each of the number of ranks nearest to
/// that asked for. Throws moe::InputError,
/// std::invalid_argument where model and ranks do not divide, db::Error.
Scenario load_scenario(const ScenarioOptions& options);

}  // namespace tuner
