#include "tuner/scenario/measured_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <utility>

#include "db/load.h"
#include "moe/errors.h"
#include "moe/model/model_json.h"
#include "moe/rows/layout.h"
#include "tuner/costs/fit_measurements.h"

namespace tuner {
namespace {

/// True where the text asks for this layout of so many ranks.
bool is_layout(const std::string& layout, const std::string& asked, int ranks) {
  try {
    return layout == moe::to_text(moe::parse_layout(asked, ranks));
  } catch (const moe::Refusal&) {
    return false;  // it asks for another number of ranks
  }
}

/// False too for a study of a model that this program cannot read.
bool is_of_model(const db::Study& study, const moe::Model& model) try {
  return moe::differing_keys(moe::model_from_json(study.model_json), model).empty();
} catch (const moe::InputError&) {
  return false;
}

/// Costs and machine of the newest study of this model, of the same layout where there is one.
std::optional<MeasuredCosts> costs_of_study(const db::Connection& connection,
                                            const CostsWanted& wanted) {
  const moe::Model model = moe::model_from_json(wanted.model_json);
  std::optional<db::Study> chosen;
  bool same_layout = false;
  for (db::Study& study : db::load_studies(connection)) {
    if (!is_of_model(study, model)) continue;
    if (wanted.ranks && study.ranks != *wanted.ranks) continue;
    if (study.cost_model_json.empty() || study.cluster_json.empty()) continue;
    same_layout = is_layout(study.layout, wanted.layout, study.ranks);
    if (same_layout || !chosen) chosen = std::move(study);
    if (same_layout) break;
  }
  if (!chosen) return std::nullopt;
  MeasuredCosts measured{
      {cluster_from_json(chosen->cluster_json), cost_model_from_json(chosen->cost_model_json)}, ""};
  if (!same_layout && !chosen->layout.empty()) {
    measured.remark = fmt::format("costs are those of study \"{}\", measured with --layout {}",
                                  chosen->name, chosen->layout);
  }
  return measured;
}

/// The number of nodes that `ranks` ranks were on, in the run of a fit. A run that only fitted does
/// not tell: then the most of any run that measured so many ranks. 0 where no run tells.
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

CostedCluster costs_of_fits(const db::Connection& connection, const std::string& path,
                            std::optional<int> wanted) {
  auto fits = db::load_latest_fits(connection);
  // Fits to the shapes of one model do not hold for others.
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
  // The fit of the nearest number of ranks comes first: the first one of a collective counts.
  std::stable_sort(fits.begin(), fits.end(),
                   [near = wanted.value_or(ranks)](const auto& a, const auto& b) {
                     return std::abs(a.ranks - near) < std::abs(b.ranks - near);
                   });
  return measured_cluster(fits, "measured", device, nodes, (ranks + nodes - 1) / nodes);
}

}  // namespace

MeasuredCosts measured_costs(const std::string& database, const CostsWanted& wanted) {
  const db::Connection connection = db::open_reader(database);
  if (auto of_study = costs_of_study(connection, wanted)) return std::move(*of_study);
  return {costs_of_fits(connection, database, wanted.ranks), ""};
}

}  // namespace tuner
