#include "tuner/planners/lplb/lplb.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tuner/planners/placement/placed_schedule.h"

namespace tuner {
namespace {

constexpr int kUsualReplicas = 2;
constexpr int kCorners = 8;
/// [slot][corner of the cube]
constexpr std::array<std::array<int, kCorners>, 2> kCube{
    {{3, 0, 1, 2, 7, 4, 5, 6}, {6, 7, 4, 5, 0, 1, 2, 3}}};

/// [member]: the experts at home there, most loaded first.
std::vector<std::vector<int>> experts_by_load(const GroupedRows& rows) {
  const std::vector<std::int64_t> loads = rows_by_expert(rows);
  std::vector<std::vector<int>> experts(static_cast<std::size_t>(rows.members));
  for (int expert = 0; expert < rows.experts; ++expert) {
    experts[rows.homes[expert]].push_back(expert);
  }
  for (auto& of_member : experts) {
    std::ranges::stable_sort(of_member, [&](int a, int b) { return loads[a] > loads[b]; });
  }
  return experts;
}

}  // namespace

ReplicaOwners ring_owners(int members, int slots) {
  ReplicaOwners owners(static_cast<std::size_t>(members));
  for (int member = 0; member < members; ++member) {
    for (int slot = 0; slot < std::min(slots, members - 1); ++slot) {
      owners[member].push_back((member + members - 1 - slot) % members);
    }
  }
  return owners;
}

ReplicaOwners cube_owners(int members) {
  ReplicaOwners owners;
  for (int member = 0; members % kCorners == 0 && member < members; ++member) {
    const int corner = member % kCorners, first = member - corner;
    owners.push_back({first + kCube[0][corner], first + kCube[1][corner]});
  }
  return owners;
}

moe::ExpertPlacement lplb_placement(const GroupedRows& rows, const ReplicaOwners& owners) {
  const auto experts = experts_by_load(rows);
  moe::ExpertPlacement placement{{}, moe::RowsOfOthers::balanced, rows.homes};
  for (int member = 0; member < rows.members; ++member) {
    for (std::size_t slot = 0; slot < owners[member].size(); ++slot) {
      const auto& of_owner = experts[owners[member][slot]];
      if (slot < of_owner.size()) placement.replicas.push_back({of_owner[slot], {member}});
    }
  }
  std::ranges::sort(placement.replicas);
  return placement;
}

std::vector<Candidate> lplb_candidates(const Situation& situation, const PlannerOptions& options) {
  const int most = whole_value_of(options, kReplicas, kUsualReplicas);
  const int members = situation.groups.layout.expert;
  const auto solver = static_cast<moe::BalancedBy>(whole_value_of(options, kFiveSteps, 0));
  std::vector<Candidate> candidates;
  const auto add = [&](const ReplicaOwners& owners, std::string_view joined, int replicas) {
    candidates.push_back({placed_schedule(situation, "lplb",
                                          [&](const PlacedLayer& layer) {
                                            auto placement = lplb_placement(layer.rows, owners);
                                            placement.balanced_by = solver;
                                            return placement;
                                          }),
                          fmt::format(R"({{"replicas": {}, "joined": "{}"}})", replicas, joined)});
  };
  for (int replicas = 1; replicas <= std::min(most, members - 1); ++replicas) {
    add(ring_owners(members, replicas), "ring", replicas);
  }
  const ReplicaOwners cube = cube_owners(members);
  if (most >= 2 && !cube.empty()) add(cube, "cube", 2);
  if (candidates.empty()) add(ring_owners(members, 0), "ring", 0);
  return candidates;
}

}  // namespace tuner
