#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Ranks of a prediction.
inline constexpr int kMostPredictedRanks = 131'072;

/// The parts of a prediction that the command line names.
struct ScenarioOptions {
  std::string model;  ///< name in experiments/models, or a TOML file
  /// A name in experiments/clusters, a TOML file, "measured" or "measured:PLACE" (CostsWanted).
  std::string cluster;
  std::string database;             ///< the database for "measured"
  std::optional<int> ranks;         ///< default: all of the cluster
  std::string layout;               ///< moe::parse_layout; "" = all experts over all ranks
  std::string network = {};         ///< CostsWanted::network
  std::string routing = "uniform";  ///< make_routings
  /// Keys with other values: of the model ("moe.experts=64", moe::load_model), and of the cluster
  /// ("cluster.nodes=4", load_cluster).
  std::vector<std::string> settings{};
};

/// These parts, loaded and checked against each other.
struct Scenario {
  moe::Model model;
  Cluster cluster;
  CostModel costs;
  moe::Groups groups;
  moe::Program program;  ///< the Program without a schedule
  moe::Routing routing;  ///< of the first iteration
  /// Of all iterations, where --routing tells several; else empty.
  std::vector<moe::Routing> routings;
  std::vector<std::string> remarks;  ///< a line each, for a person

  Situation situation() const {
    Situation all{program, groups, routing, costs, cluster};
    all.routings = routings;
    return all;
  }
};

struct MeasuredCosts;
/// The model that they name; `say` gets a line where a batch is assumed. Throws moe::InputError.
moe::Model load_named_model(const ScenarioOptions& options,
                            const std::function<void(const std::string&)>& say);
/// The same, said on stderr.
moe::Model load_named_model(const ScenarioOptions& options);
/// The costs that they name, for the model. Throws moe::InputError, db::Error.
MeasuredCosts load_named_costs(const ScenarioOptions& options, const moe::Model& model);

/// Loads the model, then the costs (of a cluster's file, or measured: measured_costs.h), the
/// layout's groups, the Program and its routing. Throws moe::InputError, moe::Refusal where they do
/// not fit each other, db::Error.
Scenario load_scenario(const ScenarioOptions& options);

/// The same of a model and costs that are there. Throws moe::InputError, moe::Refusal.
Scenario scenario_of(const ScenarioOptions& options, moe::Model model, MeasuredCosts costs);

/// Says, for a person, how many fits a prediction of the Program uses at sizes far from those that
/// were measured; "" where there are none.
std::string extrapolation(const Scenario& scenario);

}  // namespace tuner
