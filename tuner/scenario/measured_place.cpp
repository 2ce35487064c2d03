#include "tuner/scenario/measured_place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "db/identity.h"
#include "db/load.h"
#include "db/network.h"
#include "moe/errors.h"
#include "tuner/costs/cluster.h"

namespace tuner {
namespace {

constexpr const char* kNotKnown = "not known";

std::string or_not_known(const std::string& text) { return text.empty() ? kNotKnown : text; }

std::string machine_text(const MeasuredPlace& place) {
  if (place.cpu.empty()) return kNotKnown;
  std::string text =
      fmt::format("{}, {} core{}", place.cpu, place.cores, place.cores == 1 ? "" : "s");
  if (!place.gpu.empty()) text += ", " + place.gpu;
  return text;
}

bool is_other_machine(const MeasuredPlace& there, const MeasuredPlace& here) {
  if (there.cpu.empty() || here.cpu.empty()) return false;
  const bool other_gpu = !there.gpu.empty() && !here.gpu.empty() && there.gpu != here.gpu;
  return there.cpu != here.cpu || there.cores != here.cores || other_gpu;
}

bool is_other_network(const MeasuredPlace& there, const MeasuredPlace& here) {
  return db::are_other_networks(there.network, here.network, std::max(there.nodes, here.nodes));
}

}  // namespace

MeasuredPlace place_of(const db::Machine& machine, const db::Run& run, int nodes) {
  return {machine.hostname, machine.cpu, machine.cores, machine.gpu,
          run.network,      nodes,       run.revision};
}

MeasuredPlace place_of_run(const db::Connection& connection, std::int64_t run_id) {
  const db::Run run = db::load_run(connection, run_id);
  std::set<int> nodes;
  for (const db::RunRank& rank : db::load_run_ranks(connection, run_id)) nodes.insert(rank.node);
  return place_of(db::load_machine(connection, run.machine_id), run,
                  static_cast<int>(nodes.size()));
}

MeasuredPlace this_place(const db::Machine& machine, const std::string& network) {
  db::Run here = db::this_run("here", "", 0, nullptr);
  here.network = network;
  return place_of(machine, here, 0);
}

bool is_same_machine(const MeasuredPlace& a, const MeasuredPlace& b) {
  return std::tie(a.cpu, a.cores, a.gpu) == std::tie(b.cpu, b.cores, b.gpu);
}

std::vector<std::string> differences(const MeasuredPlace& there, const MeasuredPlace& here) {
  std::vector<std::string> found;
  if (is_other_machine(there, here)) {
    found.push_back(fmt::format("machine {}, here {}", machine_text(there), machine_text(here)));
  }
  if (is_other_network(there, here)) {
    found.push_back(fmt::format("network {}, here {}", or_not_known(there.network),
                                or_not_known(here.network)));
  }
  return found;
}

std::string other_nodes(const MeasuredPlace& there, const MeasuredPlace& here) {
  const bool known = there.nodes > 0 && here.nodes > 0;
  if (!known || there.nodes == here.nodes) return "";
  return fmt::format("{} node{}, here {}", there.nodes, there.nodes == 1 ? "" : "s", here.nodes);
}

std::string other_build(const MeasuredPlace& there, const MeasuredPlace& here) {
  const bool known = !there.revision.empty() && !here.revision.empty();
  if (!known || there.revision == here.revision) return "";
  return fmt::format("build {}, here {}", there.revision, here.revision);
}

std::string text_of(const MeasuredPlace& place) {
  return fmt::format("{} ({}; {})", or_not_known(place.host), machine_text(place),
                     place.network.empty() ? "network not known" : place.network);
}

namespace {

bool is_called(const MeasuredPlace& place, const std::string& asked) {
  return text_of(place).find(asked) != std::string::npos;
}

bool is_same_place(const MeasuredPlace& a, const MeasuredPlace& b) {
  return is_same_machine(a, b) && a.network == b.network;
}

/// Whether two places, each with the most nodes of it, are of a network that does not matter.
bool are_of_one_node(const MeasuredPlace& a, const MeasuredPlace& b) {
  return is_same_machine(a, b) && std::max(a.nodes, b.nodes) <= 1 &&
         !db::is_box_network(a.network) && !db::is_box_network(b.network);
}

/// The number of the first place that is one with `place`, or of a new one.
template <class IsOne>
std::size_t number_among(std::vector<MeasuredPlace>& places, const MeasuredPlace& place,
                         const IsOne& is_one) {
  const auto same = std::ranges::find_if(
      places, [&](const MeasuredPlace& other) { return is_one(other, place); });
  const auto number = static_cast<std::size_t>(same - places.begin());
  if (same == places.end()) places.push_back(place);
  places[number].nodes = std::max(places[number].nodes, place.nodes);
  return number;
}

}  // namespace

DistinctPlaces distinct_places(const std::vector<MeasuredPlace>& measured) {
  DistinctPlaces distinct;
  std::vector<MeasuredPlace> by_network;
  std::vector<std::size_t> network_of, place_of;
  for (const MeasuredPlace& place : measured) {
    network_of.push_back(number_among(by_network, place, is_same_place));
  }
  for (const MeasuredPlace& place : by_network) {
    place_of.push_back(number_among(distinct.places, place, are_of_one_node));
  }
  for (const std::size_t network : network_of) distinct.number_of.push_back(place_of[network]);
  return distinct;
}

std::size_t chosen_place(const std::vector<MeasuredPlace>& places, const std::string& asked,
                         const MeasuredPlace& here, const std::string& database) {
  std::vector<std::size_t> exact, meant;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_meant =
        asked.empty() ? differences(places[i], here).empty() : is_called(places[i], asked);
    if (is_meant) meant.push_back(i);
    if (asked.empty() ? is_meant && is_same_place(places[i], here)
                      : places[i].network == asked || places[i].host == asked) {
      exact.push_back(i);
    }
  }
  if (asked.empty() && places.size() == 1) return 0;
  if (exact.size() == 1) return exact.front();
  if (meant.size() == 1) return meant.front();
  std::vector<std::string> names;
  for (const MeasuredPlace& place : places) names.push_back(text_of(place));
  throw moe::InputError(fmt::format(
      "--cluster {}{}{}: {} was measured at {}: choose with --cluster {}:TEXT, a part of one of "
      "these",
      kMeasuredCluster, asked.empty() ? "" : ":", asked, database, fmt::join(names, " and at "),
      kMeasuredCluster));
}

std::string measured_elsewhere(const std::string& what, const MeasuredPlace& there,
                               const MeasuredPlace& here) {
  std::vector<std::string> found = differences(there, here);
  if (const std::string build = other_build(there, here); !build.empty()) found.push_back(build);
  if (found.empty()) return "";
  return fmt::format("{} measured elsewhere: {}", what, fmt::join(found, "; "));
}

}  // namespace tuner
