#include "tuner/planners/eplb/eplb.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tuner/planners/eplb/eplb_packing.h"
#include "tuner/planners/placed_schedule.h"

namespace tuner {
namespace {

constexpr int kSpareSlots = 1;

/// Nodes of the members of an expert group, counted from 0; empty where groups differ in them, or nodes in their
/// members, or where a node has one member alone or all.
std::vector<int> nodes_of_members(const moe::Groups& groups) {
  std::vector<int> nodes;
  for (int rank = 0; rank < moe::stage_ranks(groups); ++rank) {
    if (moe::index_in_group(groups, moe::GroupKind::expert, rank) != 0) continue;
    std::vector<int> of_group;
    std::map<int, int> known, members;
    for (const int member : moe::members(groups, moe::GroupKind::expert, rank)) {
      const int node = groups.node_of[static_cast<std::size_t>(member)];
      of_group.push_back(known.try_emplace(node, static_cast<int>(known.size())).first->second);
      ++members[node];
    }
    const int first = members.begin()->second;
    const bool even = std::all_of(members.begin(), members.end(),
                                  [&](const auto& entry) { return entry.second == first; });
    if (!even || first < 2 || members.size() < 2) return {};
    if (!nodes.empty() && nodes != of_group) return {};
    nodes = of_group;
  }
  return nodes;
}

moe::Schedule eplb_schedule(const Situation& situation, const std::vector<int>& nodes) {
  return placed_schedule(situation, "eplb", [&](const PlacedLayer& layer) {
    return eplb_placement(rows_by_expert(layer.rows),
                          {layer.rows.members, kSpareSlots, nodes, !nodes.empty()});
  });
}

}  // namespace

moe::Schedule plan_eplb(const Situation& situation, const PlannerOptions&) {
  return eplb_schedule(situation, nodes_of_members(situation.groups));
}

std::vector<Candidate> eplb_candidates(const Situation& situation, const PlannerOptions&) {
  const std::vector<int> nodes = nodes_of_members(situation.groups);
  std::vector<Candidate> candidates{
      {"eplb", R"({"copies": "anywhere"})", eplb_schedule(situation, {})}};
  if (!nodes.empty()) {
    candidates.push_back({"eplb", R"({"copies": "on the node"})", eplb_schedule(situation, nodes)});
  }
  return candidates;
}

}  // namespace tuner
