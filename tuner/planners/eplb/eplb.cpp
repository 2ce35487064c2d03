#include "tuner/planners/eplb/eplb.h"

#include <algorithm>
#include <map>

#include "tuner/planners/eplb/eplb_packing.h"
#include "tuner/planners/placement/move_costs.h"
#include "tuner/planners/placement/placed_schedule.h"

namespace tuner {
namespace {

constexpr int kUsualSpareSlots = 1;

/// [member]: the node of each member of an expert group, counted from 0. Empty where groups differ,
/// where nodes have unequally many members, and where a node has one member or all of them.
std::vector<int> nodes_of_members(const moe::Groups& groups) {
  std::vector<int> nodes;
  for (int rank = 0; rank < moe::stage_ranks(groups); ++rank) {
    if (moe::index_in_group(groups, moe::GroupKind::expert, rank) != 0) continue;
    std::vector<int> of_group;
    std::map<int, int> known, members;
    for (const int member : moe::members(groups, moe::GroupKind::expert, rank)) {
      const int node = groups.node_of[member];
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

/// Tells whether the updated copy of an expert may move to another rank.
enum class FirstCopies { stay, move };

/// What a planner of copies adds to them.
struct CopiesPlanner {
  const char* name;
  moe::RowsOfOthers rows;
};
constexpr CopiesPlanner kEplb{"eplb", moe::RowsOfOthers::spread};
constexpr CopiesPlanner kMicroMoe{"micro_moe", moe::RowsOfOthers::balanced};

moe::Schedule with_copies(const CopiesPlanner& planner, const Situation& situation,
                          const PlannerOptions& options, const std::vector<int>& nodes,
                          FirstCopies first) {
  const int spare_slots = whole_value_of(options, kSpareSlots, kUsualSpareSlots);
  return placed_schedule(situation, planner.name, [&](const PlacedLayer& layer) {
    const std::vector<std::int64_t> loads = rows_by_expert(layer.rows);
    const EplbGroup group{layer.rows.members, spare_slots, nodes, current_homes(situation, layer)};
    moe::ExpertPlacement stay = eplb_placement(loads, group);
    stay.homes = group.homes;
    stay.rows_of_others = planner.rows;
    if (first == FirstCopies::stay) return stay;
    moe::ExpertPlacement move = eplb_moved_placement(loads, group);
    move.rows_of_others = planner.rows;
    return pays_off(situation, options, layer, stay, move) ? move : stay;
  });
}

moe::Schedule best_copies(const CopiesPlanner& planner, const Situation& situation,
                          const PlannerOptions& options) {
  return with_copies(planner, situation, options, nodes_of_members(situation.groups),
                     FirstCopies::move);
}

std::vector<Candidate> all_copies(const CopiesPlanner& planner, const Situation& situation,
                                  const PlannerOptions& options) {
  const std::vector<int> nodes = nodes_of_members(situation.groups);
  std::vector<Candidate> candidates;
  const auto add = [&](const char* parameters, const std::vector<int>& of_members,
                       FirstCopies first) {
    candidates.push_back({with_copies(planner, situation, options, of_members, first), parameters});
  };
  add(R"({"copies": "anywhere", "first_copies": "move"})", {}, FirstCopies::move);
  add(R"({"copies": "anywhere", "first_copies": "stay"})", {}, FirstCopies::stay);
  if (nodes.empty()) return candidates;
  add(R"({"copies": "on the node", "first_copies": "move"})", nodes, FirstCopies::move);
  add(R"({"copies": "on the node", "first_copies": "stay"})", nodes, FirstCopies::stay);
  return candidates;
}

}  // namespace

moe::Schedule plan_eplb(const Situation& situation, const PlannerOptions& options) {
  return best_copies(kEplb, situation, options);
}

std::vector<Candidate> eplb_candidates(const Situation& situation, const PlannerOptions& options) {
  return all_copies(kEplb, situation, options);
}

moe::Schedule plan_micro_moe(const Situation& situation, const PlannerOptions& options) {
  return best_copies(kMicroMoe, situation, options);
}

std::vector<Candidate> micro_moe_candidates(const Situation& situation,
                                            const PlannerOptions& options) {
  return all_copies(kMicroMoe, situation, options);
}

}  // namespace tuner
