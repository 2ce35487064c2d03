#include "tuner/planners/eplb/eplb_packing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "moe/rows/expert_slots.h"
#include "tuner/planners/eplb/first_copies.h"
#include "tuner/planners/placement/most_loaded_experts.h"
#include "tuner/planners/placement/packed_homes.h"

namespace tuner {
namespace {

/// The experts and members of one node, or of all nodes.
struct Pack {
  std::vector<int> experts;
  std::vector<int> members;
};

/// The index of the pack that has a member: its node, or 0 where one pack has all.
std::size_t pack_of(const EplbGroup& group, int member) {
  return group.node_of.empty() ? 0 : static_cast<std::size_t>(group.node_of[member]);
}

/// The packs with their members, without experts.
std::vector<Pack> packs_of_members(const EplbGroup& group) {
  std::vector<Pack> packs;
  for (int member = 0; member < group.members; ++member) {
    const std::size_t node = pack_of(group, member);
    if (packs.size() <= node) packs.resize(node + 1);
    packs[node].members.push_back(member);
  }
  return packs;
}

double load_per_copy(std::int64_t load, int copies) { return static_cast<double>(load) / copies; }

/// The copies and the load of every member while copies are packed.
struct Packing {
  moe::ExpertHomes homes;                 // -1: first copies are packed like the others
  std::vector<std::vector<int>> holders;  // [expert]: members beside its home, unordered
  std::vector<double> load;               // [member]
  std::vector<int> free;                  // [member]
};

Packing nothing_packed(moe::ExpertHomes homes, std::vector<int> free) {
  const std::size_t members = free.size();
  Packing packing{std::move(homes), {}, std::vector<double>(members, 0), std::move(free)};
  packing.holders.resize(packing.homes.size());
  return packing;
}

/// The least loaded member of the pack that can take a copy; -1: none.
int taker(const Packing& packing, const Pack& pack, int expert, int home) {
  int best = -1;
  for (const int member : pack.members) {
    const auto& holders = packing.holders[expert];
    const bool has_it =
        member == home || std::find(holders.begin(), holders.end(), member) != holders.end();
    if (has_it || packing.free[member] == 0) continue;
    const double load = packing.load[member];
    if (best < 0 || load < packing.load[best]) best = member;
  }
  return best;
}

void pack_copies(std::span<const std::int64_t> loads, const Pack& pack, const EplbGroup& group,
                 Packing& packing) {
  std::vector<std::int64_t> of_pack;
  for (const int expert : pack.experts) of_pack.push_back(loads[expert]);
  const int slots = group.spare_slots * static_cast<int>(pack.members.size());
  const auto copies = copies_by_load(of_pack, slots, static_cast<int>(pack.members.size()));
  std::vector<std::size_t> heaviest(pack.experts.size());
  std::iota(heaviest.begin(), heaviest.end(), std::size_t{0});
  const auto weight = [&](std::size_t i) { return load_per_copy(of_pack[i], copies[i]); };
  std::stable_sort(heaviest.begin(), heaviest.end(),
                   [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  const auto home = [&](std::size_t i) { return packing.homes[pack.experts[i]]; };
  for (std::size_t i = 0; i < of_pack.size(); ++i) {
    if (home(i) >= 0) packing.load[home(i)] += weight(i);
  }
  for (const std::size_t i : heaviest) {
    for (int copy = home(i) < 0 ? 0 : 1; copy < copies[i]; ++copy) {
      const int member = taker(packing, pack, pack.experts[i], home(i));
      if (member < 0) break;
      packing.holders[pack.experts[i]].push_back(member);
      packing.load[member] += weight(i);
      --packing.free[member];
    }
  }
}

moe::ExpertPlacement replicas_of(std::vector<std::vector<int>> holders) {
  moe::ExpertPlacement placement;
  placement.rows_of_others = moe::RowsOfOthers::spread;
  for (std::size_t expert = 0; expert < holders.size(); ++expert) {
    if (holders[expert].empty()) continue;
    std::sort(holders[expert].begin(), holders[expert].end());
    placement.replicas.push_back({static_cast<int>(expert), std::move(holders[expert])});
  }
  return placement;
}

moe::ExpertHomes homes_in(const EplbGroup& group, std::size_t experts) {
  return group.homes.empty() ? moe::homes_in_order(static_cast<int>(experts), group.members)
                             : group.homes;
}

/// Takes the replicas of least load from members with more replicas than spare slots.
void leave_out_beyond(std::vector<std::vector<int>>& holders, std::span<const std::int64_t> loads,
                      const EplbGroup& group) {
  std::vector<int> replicas(static_cast<std::size_t>(group.members), 0);
  const std::vector<int> order = most_loaded(loads);
  for (const int expert : order) {
    std::erase_if(holders[expert],
                  [&](int member) { return ++replicas[member] > group.spare_slots; });
  }
}

}  // namespace

std::vector<int> copies_by_load(std::span<const std::int64_t> loads, int extra, int most) {
  std::vector<int> copies(loads.size(), 1);
  for (int i = 0; i < extra; ++i) {
    std::size_t heaviest = loads.size();
    for (std::size_t expert = 0; expert < loads.size(); ++expert) {
      if (copies[expert] >= most) continue;
      if (heaviest == loads.size() || load_per_copy(loads[expert], copies[expert]) >
                                          load_per_copy(loads[heaviest], copies[heaviest])) {
        heaviest = expert;
      }
    }
    if (heaviest == loads.size()) break;
    ++copies[heaviest];
  }
  return copies;
}

moe::ExpertPlacement eplb_placement(std::span<const std::int64_t> loads, const EplbGroup& group) {
  Packing packing =
      nothing_packed(homes_in(group, loads.size()),
                     std::vector<int>(static_cast<std::size_t>(group.members), group.spare_slots));
  std::vector<Pack> packs = packs_of_members(group);
  for (std::size_t expert = 0; expert < loads.size(); ++expert) {
    packs[pack_of(group, packing.homes[expert])].experts.push_back(static_cast<int>(expert));
  }
  for (const Pack& pack : packs) pack_copies(loads, pack, group, packing);
  return replicas_of(std::move(packing.holders));
}

moe::ExpertPlacement eplb_moved_placement(std::span<const std::int64_t> loads,
                                          const EplbGroup& group) {
  const moe::ExpertHomes now = homes_in(group, loads.size());
  std::vector<Pack> packs = packs_of_members(group);
  std::vector<int> free(static_cast<std::size_t>(group.members), group.spare_slots);
  std::vector<int> of_nodes(packs.size(), 0);
  for (const int home : now) {
    ++free[home];
    ++of_nodes[pack_of(group, home)];
  }
  Packing packing = nothing_packed(moe::ExpertHomes(loads.size(), -1), std::move(free));
  const moe::ExpertHomes nodes = packed_homes(loads, of_nodes);
  for (std::size_t expert = 0; expert < nodes.size(); ++expert) {
    packs[nodes[expert]].experts.push_back(static_cast<int>(expert));
  }
  for (const Pack& pack : packs) pack_copies(loads, pack, group, packing);
  const moe::ExpertHomes homes = first_copies(packing.holders, now, group.members);
  for (std::size_t expert = 0; expert < homes.size(); ++expert) {
    std::erase(packing.holders[expert], homes[expert]);
  }
  leave_out_beyond(packing.holders, loads, group);
  moe::ExpertPlacement placement = replicas_of(std::move(packing.holders));
  placement.homes = homes;
  return placement;
}

}  // namespace tuner
