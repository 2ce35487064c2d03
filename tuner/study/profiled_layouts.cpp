#include "tuner/study/profiled_layouts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "moe/program/op.h"
#include "moe/rows/groups.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/interference.h"

namespace tuner {
namespace {

/// The links that the groups of one kind cross in a stage, by name.
std::set<std::string> links_of(const moe::Groups& groups, moe::GroupKind kind, int stage) {
  std::set<std::string> links;
  for (int rank = 0; rank < groups.ranks; ++rank) {
    if (moe::stage_of(groups, rank) != stage) continue;
    const std::vector<int> all = moe::members(groups, kind, rank);
    if (all.size() < 2) continue;
    const auto node = [&](int member) { return groups.node_of[static_cast<std::size_t>(member)]; };
    const bool inside =
        std::ranges::all_of(all, [&](int member) { return node(member) == node(all.front()); });
    links.emplace(name_of(inside ? Occupation::intra_node : Occupation::inter_node));
  }
  return links;
}

bool exchanges_rows(const moe::Program& program) {
  return std::ranges::any_of(program.ops, [&](const moe::Op& op) {
    return moe::exchanges_rows(op) && moe::group_size(program.groups, *moe::group_of(op)) > 1;
  });
}

}  // namespace

std::set<std::string> kinds_to_measure(const moe::Program& program) {
  std::set<std::string> kinds;
  std::map<std::pair<moe::GroupKind, int>, std::set<std::string>> known;  // and the stage
  for (const moe::Op& op : program.ops) {
    const auto group = moe::group_of(op);
    if (!group) {
      kinds.insert(costed_kind(program, op));
      continue;
    }
    for (int stage = 0; stage < program.stages; ++stage) {
      if (!moe::runs_in(op, stage)) continue;
      const auto [links, is_new] = known.try_emplace({*group, stage});
      if (is_new) links->second = links_of(program.groups, *group, stage);
      for (const std::string& link : links->second) {
        kinds.insert(link_key(collective_name(op), link));
      }
    }
  }
  return kinds;
}

std::size_t profiled_in_whole(std::span<const moe::Program* const> programs) {
  const auto found = std::ranges::find_if(
      programs, [](const moe::Program* program) { return exchanges_rows(*program); });
  return found == programs.end() ? 0 : static_cast<std::size_t>(found - programs.begin());
}

std::optional<std::size_t> next_to_profile(std::span<const std::set<std::string>> kinds,
                                           const std::set<std::string>& known) {
  const auto unknown = [&](const std::set<std::string>& of_layout) {
    return std::ranges::count_if(of_layout,
                                 [&](const std::string& kind) { return !known.contains(kind); });
  };
  const auto most = std::ranges::max_element(kinds, {}, unknown);
  if (most == kinds.end() || unknown(*most) == 0) return std::nullopt;
  return static_cast<std::size_t>(most - kinds.begin());
}

}  // namespace tuner
