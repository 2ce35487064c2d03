#include "tuner/commands/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "db/identity.h"
#include "db/load.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/source_tree.h"
#include "tuner/commands/routing_spec.h"
#include "tuner/costs/fit_measurements.h"

namespace tuner {
namespace {

constexpr int kMostRanks = 4096;  // of a prediction; an all-to-all has their square in flows

/// Costs and machine of the newest study of this model; what a study measured op by op.
std::optional<CostedCluster> cluster_of_study(const db::Connection& connection,
                                              const std::string& model_json,
                                              std::optional<int> ranks) {
  for (const db::Study& study : db::load_studies(connection)) {
    if (study.model_json != model_json || (ranks && study.ranks != *ranks)) continue;
    if (study.cost_model_json.empty() || study.cluster_json.empty()) continue;
    return CostedCluster{cluster_from_json(study.cluster_json),
                         cost_model_from_json(study.cost_model_json)};
  }
  return std::nullopt;
}

CostedCluster cluster_of_fits(const db::Connection& connection, const std::string& path) {
  auto fits = db::load_latest_fits(connection);
  // Shapes of some model are no fits of a machine.
  std::erase_if(fits, [](const db::Fit& fit) { return fit.op.find('[') != std::string::npos; });
  if (fits.empty()) {
    throw moe::InputError(fmt::format(
        "{}: no fits: measure with moe-bench all --db {} and moe-tune fit --db {}, or run a study",
        path, path, path));
  }
  int ranks = 1, nodes = 1;
  std::int64_t run_id = 0;
  for (const db::Fit& fit : fits) {
    if (fit.ranks <= ranks) continue;
    ranks = fit.ranks;
    run_id = fit.run_id;
  }
  if (run_id != 0) {
    std::set<int> seen;
    for (const db::RunRank& rank : db::load_run_ranks(connection, run_id)) seen.insert(rank.node);
    if (seen.empty()) {
      for (const db::Fit& fit : fits) {
        if (fit.link == "inter_node") nodes = ranks;
      }
    } else {
      nodes = static_cast<int>(seen.size());
    }
  }
  return measured_cluster(fits, "measured", fits.front().device, nodes,
                          (ranks + nodes - 1) / nodes);
}

}  // namespace

Scenario load_scenario(const ScenarioOptions& options) {
  const auto experiments = moe::source_tree() / "experiments";
  Scenario scenario;
  scenario.model = moe::load_model(moe::find_input(options.model, experiments / "models"));
  CostedCluster costed;
  if (options.cluster == "measured") {
    if (options.database.empty()) throw moe::InputError("--cluster measured needs --db FILE");
    const db::Connection connection = db::open_reader(options.database);
    auto study = cluster_of_study(connection, moe::to_json(scenario.model), options.ranks);
    costed = study ? std::move(*study) : cluster_of_fits(connection, options.database);
  } else {
    costed = load_cluster(moe::find_input(options.cluster, experiments / "clusters"));
  }
  scenario.cluster = std::move(costed.cluster);
  scenario.costs = std::move(costed.costs);
  const int ranks =
      options.ranks.value_or(scenario.cluster.nodes * scenario.cluster.ranks_per_node);
  if (ranks > kMostRanks) {
    throw moe::InputError(
        fmt::format("cluster {}: {} ranks: expected at most {}: choose with --ranks",
                    scenario.cluster.name, ranks, kMostRanks));
  }
  scenario.groups =
      groups_of(scenario.cluster, ranks, options.expert_ranks > 0 ? options.expert_ranks : ranks);
  scenario.program = moe::build_iteration(scenario.model, scenario.groups, 0);
  scenario.routing = make_routing(options.routing, scenario.program, scenario.groups,
                                  static_cast<std::uint64_t>(scenario.model.seed));
  return scenario;
}

}  // namespace tuner
