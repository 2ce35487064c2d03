#include "tuner/scenario/measured_fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "db/load.h"
#include "tuner/costs/fit_measurements.h"

namespace tuner {
namespace {

/// What a fit was measured on. Fits of collectives on one place go together.
struct Place {
  std::int64_t machine_id = 0;
  std::string network;

  friend bool operator==(const Place&, const Place&) = default;
};

/// A fit of a collective or of interference depends on the network, one of computation does not.
bool is_on_network(const db::Fit& fit) { return !fit.link.empty() || fit.unit == "second"; }

class StoredFits {
 public:
  explicit StoredFits(const db::Connection& connection)
      : connection_(connection), fits_(db::load_latest_fits(connection)) {
    // The shapes of a model are no fits of a machine.
    std::erase_if(fits_, [](const db::Fit& fit) { return fit.op.find('[') != std::string::npos; });
    for (const db::Fit& fit : fits_) {
      auto& machine = machine_of_run_[fit.run_id];
      if (machine == 0) machine = db::load_run(connection, fit.run_id).machine_id;
    }
  }

  const std::vector<db::Fit>& all() const { return fits_; }
  std::int64_t machine_of(const db::Fit& fit) const {
    return fit.machine_id.value_or(machine_of_run_.at(fit.run_id));
  }
  Place place_of(const db::Fit& fit) const { return {machine_of(fit), fit.network}; }
  /// What it was measured on, with the build that fitted it.
  MeasuredPlace measured_place(const db::Fit& fit) const {
    db::Run run = db::load_run(connection_, fit.run_id);
    run.network = fit.network;
    const int least_nodes = fit.link == "inter_node" ? 2 : 0;
    return tuner::place_of(db::load_machine(connection_, machine_of(fit)), run,
                           std::max(fit.nodes, least_nodes));
  }
  const std::string& database() const { return connection_.path(); }

  std::string hostname_of(std::int64_t machine_id) const {
    return db::load_machine(connection_, machine_id).hostname;
  }
  std::string text_of(const Place& place) const {
    return fmt::format("{} ({})", hostname_of(place.machine_id),
                       place.network.empty() ? "network not known" : place.network);
  }

 private:
  const db::Connection& connection_;
  std::vector<db::Fit> fits_;
  std::map<std::int64_t, std::int64_t> machine_of_run_;
};

/// The fits of collectives where there are some, else all.
std::vector<const db::Fit*> deciding_fits(const StoredFits& stored) {
  std::vector<const db::Fit*> candidates;
  for (const db::Fit& fit : stored.all()) {
    if (!fit.link.empty()) candidates.push_back(&fit);
  }
  if (candidates.empty()) {
    for (const db::Fit& fit : stored.all()) candidates.push_back(&fit);
  }
  return candidates;
}

/// The fit whose place and ranks are those of the machine: of a collective where there is one.
const db::Fit& deciding_fit(const StoredFits& stored, std::optional<int> wanted,
                            const std::string& asked, const MeasuredPlace& here) {
  std::vector<const db::Fit*> candidates = deciding_fits(stored);
  const auto distance = [&](const db::Fit* fit) { return std::abs(fit->ranks - *wanted); };
  const auto keep_nearest = [&] {
    if (!wanted) return;
    const int least = distance(*std::ranges::min_element(candidates, {}, distance));
    std::erase_if(candidates, [&](const db::Fit* fit) { return distance(fit) != least; });
  };
  if (asked.empty()) keep_nearest();
  std::vector<MeasuredPlace> measured;
  for (const db::Fit* fit : candidates) measured.push_back(stored.measured_place(*fit));
  const DistinctPlaces distinct = distinct_places(measured);
  const std::size_t chosen = chosen_place(distinct.places, asked, here, stored.database());
  std::map<const db::Fit*, std::size_t> place_of;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    place_of[candidates[i]] = distinct.number_of[i];
  }
  std::erase_if(candidates, [&](const db::Fit* fit) { return place_of.at(fit) != chosen; });
  keep_nearest();
  const Place newest = stored.place_of(
      **std::ranges::max_element(candidates, {}, [](const db::Fit* fit) { return fit->id; }));
  std::erase_if(candidates, [&](const db::Fit* fit) { return stored.place_of(*fit) != newest; });
  return **std::ranges::max_element(
      candidates, {}, [](const db::Fit* fit) { return std::pair(fit->ranks, fit->id); });
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

/// The fits for the place of `decides`, those that count before others.
std::vector<db::Fit> fits_for(const StoredFits& stored, const db::Fit& decides, int near) {
  std::vector<db::Fit> fits = stored.all();
  const Place place = stored.place_of(decides);
  std::erase_if(fits, [&](const db::Fit& fit) {
    return is_on_network(fit) && stored.place_of(fit) != place;
  });
  std::ranges::stable_sort(fits, {}, [&](const db::Fit& fit) {
    return std::tuple(stored.machine_of(fit) != place.machine_id,
                      is_on_network(fit) && fit.nodes != decides.nodes, std::abs(fit.ranks - near),
                      -fit.id);
  });
  return fits;
}

/// What a person should know of the choice.
std::vector<std::string> remarks_on(const StoredFits& stored, const db::Fit& decides,
                                    const std::vector<db::Fit>& chosen) {
  const Place place = stored.place_of(decides);
  std::set<std::string> other_networks, other_machines, ops_of_others;
  bool has_interference = false, left_out = false;
  for (const db::Fit& fit : stored.all()) {
    if (fit.device != decides.device || !is_on_network(fit)) continue;
    const bool here = stored.place_of(fit) == place;
    if (!here && !fit.link.empty()) other_networks.insert(stored.text_of(stored.place_of(fit)));
    if (fit.unit == "second") (here ? has_interference : left_out) = true;
  }
  std::set<std::string> seen;
  for (const db::Fit& fit : chosen) {
    if (fit.device != decides.device || is_on_network(fit) || !seen.insert(fit.op).second) continue;
    if (stored.machine_of(fit) == place.machine_id) continue;
    ops_of_others.insert(fit.op);
    other_machines.insert(stored.hostname_of(stored.machine_of(fit)));
  }
  std::vector<std::string> remarks;
  if (!other_networks.empty()) {
    remarks.push_back(
        fmt::format("costs are the fits of {}; there are also fits of {}: --cluster {}:TEXT "
                    "chooses by a part of the name",
                    stored.text_of(place), fmt::join(other_networks, " and "), kMeasuredCluster));
  }
  if (!ops_of_others.empty()) {
    remarks.push_back(fmt::format(
        "{} were not measured on {}: their fits are those of {}", fmt::join(ops_of_others, ", "),
        stored.hostname_of(place.machine_id), fmt::join(other_machines, " and ")));
  }
  if (left_out && !has_interference) {
    remarks.push_back(
        fmt::format("interference was not measured on {}, only elsewhere: speeds "
                    "beside each other are taken as 1",
                    stored.text_of(place)));
  }
  return remarks;
}

}  // namespace

std::optional<FittedCosts> fitted_costs(const db::Connection& connection, std::optional<int> ranks,
                                        const std::string& asked, const MeasuredPlace& here) {
  const StoredFits stored(connection);
  if (stored.all().empty()) return std::nullopt;
  const db::Fit& decides = deciding_fit(stored, ranks, asked, here);
  int nodes = decides.nodes;
  if (nodes == 0) nodes = nodes_measured(connection, decides.run_id, decides.ranks);
  const std::vector<db::Fit> fits = fits_for(stored, decides, ranks.value_or(decides.ranks));
  if (nodes == 0) {
    const bool between =
        std::ranges::any_of(fits, [](const db::Fit& fit) { return fit.link == "inter_node"; });
    nodes = between ? decides.ranks : 1;
  }
  std::vector<std::string> remarks = remarks_on(stored, decides, fits);
  const std::string elsewhere =
      measured_elsewhere("costs are fits", stored.measured_place(decides), here);
  if (!elsewhere.empty()) remarks.push_back(elsewhere);
  return FittedCosts{measured_cluster(fits, kMeasuredCluster, decides.device, nodes,
                                      (decides.ranks + nodes - 1) / nodes),
                     std::move(remarks)};
}

}  // namespace tuner
