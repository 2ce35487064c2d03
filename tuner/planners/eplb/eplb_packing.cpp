#include "tuner/planners/eplb/eplb_packing.h"

#include <algorithm>
#include <numeric>

#include "tuner/planners/placed_loads.h"

namespace tuner {
namespace {

/// Experts and members of one node, or of all.
struct Pack {
  std::vector<int> experts;
  std::vector<int> members;
};

std::vector<Pack> packs_of(std::size_t experts, const EplbGroup& group) {
  std::vector<Pack> packs;
  for (int member = 0; member < group.members; ++member) {
    const auto node =
        group.hierarchical
            ? static_cast<std::size_t>(group.node_of[static_cast<std::size_t>(member)])
            : 0;
    if (packs.size() <= node) packs.resize(node + 1);
    packs[node].members.push_back(member);
    for (int expert = 0; expert < static_cast<int>(experts); ++expert) {
      if (home_of(expert, static_cast<int>(experts), group.members) == member) {
        packs[node].experts.push_back(expert);
      }
    }
  }
  return packs;
}

double load_per_copy(std::int64_t load, int copies) { return static_cast<double>(load) / copies; }

/// What members hold and compute while copies are packed.
struct Packing {
  std::vector<std::vector<int>> holders;  // [expert], unordered
  std::vector<double> load;               // [member]
  std::vector<int> free;                  // [member]
};

/// The least loaded member of the pack that can take a copy; -1: none.
int taker(const Packing& packing, const Pack& pack, int expert, int home) {
  int best = -1;
  for (const int member : pack.members) {
    const auto& holders = packing.holders[static_cast<std::size_t>(expert)];
    const bool has_it =
        member == home || std::find(holders.begin(), holders.end(), member) != holders.end();
    if (has_it || packing.free[static_cast<std::size_t>(member)] == 0) continue;
    const double load = packing.load[static_cast<std::size_t>(member)];
    if (best < 0 || load < packing.load[static_cast<std::size_t>(best)]) best = member;
  }
  return best;
}

void pack_copies(std::span<const std::int64_t> loads, const Pack& pack, const EplbGroup& group,
                 Packing& packing) {
  std::vector<std::int64_t> of_pack;
  for (const int expert : pack.experts) of_pack.push_back(loads[static_cast<std::size_t>(expert)]);
  const int slots = group.spare_slots * static_cast<int>(pack.members.size());
  const auto copies = copies_by_load(of_pack, slots, static_cast<int>(pack.members.size()));
  std::vector<std::size_t> heaviest(pack.experts.size());
  std::iota(heaviest.begin(), heaviest.end(), std::size_t{0});
  const auto weight = [&](std::size_t i) { return load_per_copy(of_pack[i], copies[i]); };
  std::stable_sort(heaviest.begin(), heaviest.end(),
                   [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  const auto home = [&](std::size_t i) {
    return home_of(pack.experts[i], static_cast<int>(loads.size()), group.members);
  };
  for (std::size_t i = 0; i < of_pack.size(); ++i) {
    packing.load[static_cast<std::size_t>(home(i))] += weight(i);
  }
  for (const std::size_t i : heaviest) {
    for (int copy = 1; copy < copies[i]; ++copy) {
      const int member = taker(packing, pack, pack.experts[i], home(i));
      if (member < 0) break;
      packing.holders[static_cast<std::size_t>(pack.experts[i])].push_back(member);
      packing.load[static_cast<std::size_t>(member)] += weight(i);
      --packing.free[static_cast<std::size_t>(member)];
    }
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
  const auto members = static_cast<std::size_t>(group.members);
  Packing packing{std::vector<std::vector<int>>(loads.size()), std::vector<double>(members, 0),
                  std::vector<int>(members, group.spare_slots)};
  for (const Pack& pack : packs_of(loads.size(), group)) pack_copies(loads, pack, group, packing);
  moe::ExpertPlacement placement;
  placement.rows_of_others = moe::RowsOfOthers::spread;
  for (std::size_t expert = 0; expert < loads.size(); ++expert) {
    auto& holders = packing.holders[expert];
    if (holders.empty()) continue;
    std::sort(holders.begin(), holders.end());
    placement.replicas.push_back({static_cast<int>(expert), holders});
  }
  return placement;
}

}  // namespace tuner
