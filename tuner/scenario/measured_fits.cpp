#include "tuner/scenario/measured_fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "db/load.h"
#include "db/network.h"
#include "tuner/costs/fit_records.h"
#include "tuner/costs/measured_cards.h"

namespace tuner {
namespace {

struct StoredFit {
  db::Fit fit;
  MeasuredPlace place;  ///< what it was measured on, with the build that fitted it
};

std::vector<StoredFit> stored_fits(const db::Connection& connection) {
  std::vector<StoredFit> all;
  std::map<std::int64_t, db::Run> runs;
  std::map<std::int64_t, db::Machine> machines;
  for (db::Fit& fit : db::load_latest_fits(connection)) {
    if (fit.op.find('[') != std::string::npos) continue;  // a shape of a model
    const auto [run, new_run] = runs.try_emplace(fit.run_id);
    if (new_run) run->second = db::load_run(connection, fit.run_id);
    const std::int64_t id = fit.machine_id.value_or(run->second.machine_id);
    const auto [machine, new_machine] = machines.try_emplace(id);
    if (new_machine) machine->second = db::load_machine(connection, id);
    run->second.network = fit.network;  // a fit has its own
    const int nodes = fit.nodes;
    all.push_back({std::move(fit), place_of(machine->second, run->second, nodes)});
  }
  return all;
}

/// A fit of a collective or of interference depends on the network, one of computation does not.
bool is_on_network(const StoredFit& one) {
  return !one.fit.link.empty() || one.fit.unit == "second";
}

using Chosen = std::vector<const StoredFit*>;

void keep_nearest(Chosen& fits, int ranks) {
  const auto distance = [&](const StoredFit* one) { return std::abs(one->fit.ranks - ranks); };
  const int least = distance(*std::ranges::min_element(fits, {}, distance));
  std::erase_if(fits, [&](const StoredFit* one) { return distance(one) != least; });
}

/// The fit whose place and ranks are those of the machine: of a collective where there is one.
const StoredFit& deciding_fit(const std::vector<StoredFit>& all, std::optional<int> ranks,
                              const std::string& asked, const MeasuredPlace& here,
                              const std::string& database) {
  Chosen fits;
  const bool has_links =
      std::ranges::any_of(all, [](const StoredFit& one) { return !one.fit.link.empty(); });
  for (const StoredFit& one : all) {
    if (!has_links || !one.fit.link.empty()) fits.push_back(&one);
  }
  if (ranks && asked.empty()) keep_nearest(fits, *ranks);
  std::vector<MeasuredPlace> measured;
  for (const StoredFit* one : fits) measured.push_back(one->place);
  const DistinctPlaces distinct = distinct_places(measured);
  const std::size_t chosen = chosen_place(distinct.places, asked, here, database);
  Chosen there;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (distinct.number_of[i] == chosen) there.push_back(fits[i]);
  }
  if (ranks) keep_nearest(there, *ranks);
  return **std::ranges::max_element(
      there, {}, [](const StoredFit* one) { return std::pair(one->fit.ranks, one->fit.id); });
}

/// What a person should know of `chosen`, in the order in which fits of one op count.
std::vector<std::string> remarks_on(const std::vector<StoredFit>& all, const StoredFit& decides,
                                    const Chosen& chosen) {
  std::set<std::string> elsewhere, machines, ops, seen;
  bool left_out = false, has_interference = false;
  for (const StoredFit& one : all) {
    if (one.fit.device != decides.fit.device || !is_on_network(one)) continue;
    const bool is_chosen = std::ranges::count(chosen, &one) > 0;
    if (!is_chosen && !one.fit.link.empty()) elsewhere.insert(text_of(one.place));
    if (one.fit.unit == "second") (is_chosen ? has_interference : left_out) = true;
  }
  for (const StoredFit* one : chosen) {
    if (one->fit.device != decides.fit.device || !seen.insert(one->fit.op).second) continue;
    if (is_same_machine(one->place, decides.place)) continue;
    ops.insert(one->fit.op);
    machines.insert(one->place.host);
  }
  std::vector<std::string> remarks;
  if (!elsewhere.empty()) {
    remarks.push_back(
        fmt::format("costs are the fits of {}; there are also fits of {}: --cluster {}:TEXT "
                    "chooses by a part of the name",
                    text_of(decides.place), fmt::join(elsewhere, " and "), kMeasuredCluster));
  }
  if (!ops.empty()) {
    remarks.push_back(fmt::format("{} were not measured on {}: their fits are those of {}",
                                  fmt::join(ops, ", "), decides.place.host,
                                  fmt::join(machines, " and ")));
  }
  if (left_out && !has_interference) {
    remarks.push_back(
        fmt::format("interference was not measured on {}, only elsewhere: speeds beside each other "
                    "are taken as 1",
                    text_of(decides.place)));
  }
  return remarks;
}

}  // namespace

std::optional<MeasuredCosts> fitted_costs(const db::Connection& connection,
                                          std::optional<int> ranks, const std::string& asked,
                                          const MeasuredPlace& here) {
  const std::vector<StoredFit> all = stored_fits(connection);
  if (all.empty()) return std::nullopt;
  const StoredFit& decides = deciding_fit(all, ranks, asked, here, connection.path());
  Chosen chosen;
  for (const StoredFit& one : all) {
    const bool is_there =
        is_same_machine(one.place, decides.place) && one.fit.network == decides.fit.network;
    if (is_there || !is_on_network(one)) chosen.push_back(&one);
  }
  const int near = ranks.value_or(decides.fit.ranks), nodes = std::max(decides.fit.nodes, 1);
  std::ranges::stable_sort(chosen, {}, [&](const StoredFit* one) {
    return std::tuple(!is_same_machine(one->place, decides.place),
                      is_on_network(*one) && one->fit.nodes != decides.fit.nodes,
                      std::abs(one->fit.ranks - near), -one->fit.id);
  });
  std::vector<db::Fit> fits;
  for (const StoredFit* one : chosen) fits.push_back(one->fit);
  MeasuredCosts measured{
      measured_cluster(costs_of_records(fits, decides.fit.device), kMeasuredCluster, nodes,
                       (decides.fit.ranks + nodes - 1) / nodes),
      remarks_on(all, decides, chosen)};
  Cluster& cluster = measured.costed.cluster;
  divide_cards(measured.costed, measured_cards(decides.fit.network, cluster.ranks_per_node));
  measured.knows_cards = db::cards_per_node(decides.fit.network).has_value();
  const std::string elsewhere = measured_elsewhere("costs are fits", decides.place, here);
  if (!elsewhere.empty()) measured.remarks.push_back(elsewhere);
  return measured;
}

}  // namespace tuner
