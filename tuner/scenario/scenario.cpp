#include "tuner/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "db/load.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/misfit.h"
#include "moe/source_tree.h"
#include "tuner/commands/printing.h"
#include "tuner/costs/fit_measurements.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner {
namespace {

constexpr int kMostRanks = 4096;  // of a prediction; an all-to-all has their square in flows

/// True where the text asks for this layout of so many ranks.
bool is_layout(const std::string& layout, const std::string& asked, int ranks) {
  try {
    return layout == moe::to_text(moe::parse_layout(asked, ranks));
  } catch (const std::invalid_argument&) {
    return false;  // one of other ranks
  }
}

/// Costs and machine of the newest study of this model, what a study measured op by op; of this layout where there is
/// one, else it says so.
std::optional<CostedCluster> cluster_of_study(const db::Connection& connection,
                                              const std::string& model_json,
                                              std::optional<int> ranks, const std::string& layout) {
  std::optional<db::Study> chosen;
  bool same_layout = false;
  for (db::Study& study : db::load_studies(connection)) {
    if (study.model_json != model_json || (ranks && study.ranks != *ranks)) continue;
    if (study.cost_model_json.empty() || study.cluster_json.empty()) continue;
    same_layout = is_layout(study.layout, layout, study.ranks);
    if (same_layout || !chosen) chosen = std::move(study);
    if (same_layout) break;
  }
  if (!chosen) return std::nullopt;
  if (!same_layout && !chosen->layout.empty()) {
    warn(fmt::format("costs are those of study \"{}\", measured with --layout {}", chosen->name,
                     chosen->layout));
  }
  return CostedCluster{cluster_from_json(chosen->cluster_json),
                       cost_model_from_json(chosen->cost_model_json)};
}

/// Nodes that `ranks` ranks were on: of the run that a fit is of, or where that one only fitted, the
/// most of any run that measured so many. 0 where no run tells.
int nodes_measured(const db::Connection& connection, std::int64_t run_id, int ranks) {
  std::set<std::int64_t> runs{run_id};
  for (const db::Measurement& row : db::load_measurements(connection)) {
    if (row.ranks == ranks) runs.insert(row.run_id);
  }
  std::size_t most = 0;
  for (const std::int64_t run : runs) {
    std::set<int> nodes;
    for (const db::RunRank& rank : db::load_run_ranks(connection, run)) nodes.insert(rank.node);
    most = std::max(most, nodes.size());
  }
  return static_cast<int>(most);
}

CostedCluster cluster_of_fits(const db::Connection& connection, const std::string& path,
                              std::optional<int> wanted) {
  auto fits = db::load_latest_fits(connection);
  // Shapes of some model are no fits of a machine.
  std::erase_if(fits, [](const db::Fit& fit) { return fit.op.find('[') != std::string::npos; });
  if (fits.empty()) {
    throw moe::InputError(fmt::format(
        "{}: no fits: measure with moe-bench all --db {} and moe-tune fit --db {}, or run a study",
        path, path, path));
  }
  const std::string device = fits.front().device;
  const auto largest = std::max_element(
      fits.begin(), fits.end(), [](const auto& a, const auto& b) { return a.ranks < b.ranks; });
  const int ranks = largest->ranks;
  int nodes = nodes_measured(connection, largest->run_id, ranks);
  if (nodes == 0) {
    const bool between = std::any_of(fits.begin(), fits.end(),
                                     [](const db::Fit& fit) { return fit.link == "inter_node"; });
    nodes = between ? ranks : 1;
  }
  // Of a collective measured on several numbers of ranks the one nearest to what is predicted.
  std::stable_sort(fits.begin(), fits.end(),
                   [near = wanted.value_or(ranks)](const auto& a, const auto& b) {
                     return std::abs(a.ranks - near) < std::abs(b.ranks - near);
                   });
  return measured_cluster(fits, "measured", device, nodes, (ranks + nodes - 1) / nodes);
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
    auto study =
        cluster_of_study(connection, moe::to_json(scenario.model), options.ranks, options.layout);
    costed =
        study ? std::move(*study) : cluster_of_fits(connection, options.database, options.ranks);
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
  scenario.groups = groups_of(scenario.cluster,
                              moe::parse_layout(options.layout, ranks, moe::fits(scenario.model)));
  scenario.program = moe::build_iteration(scenario.model, scenario.groups, 0);
  scenario.routing = make_routing(options.routing, scenario.program, scenario.groups,
                                  static_cast<std::uint64_t>(scenario.model.seed));
  return scenario;
}

}  // namespace tuner
