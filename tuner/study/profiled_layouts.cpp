#include "tuner/study/profiled_layouts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "moe/program/op.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "moe/rows/binding.h"
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

Kinds kinds_to_measure(const moe::Program& program, const moe::Routing& routing) {
  Kinds kinds;
  const auto add = [&](const std::string& kind, double units) {
    double& most = kinds.try_emplace(kind, 0).first->second;
    most = std::max(most, units);
  };
  const moe::Binding rows = moe::bind(program, routing, program.groups, 0);
  std::map<std::pair<moe::GroupKind, int>, std::set<std::string>> known;  // and the stage
  for (const moe::Op& op : program.ops) {
    const auto group = moe::group_of(op);
    if (!group) {
      add(costed_kind(program, op), units_of(program, op, rows, program.groups, 0, "cpu").units);
      continue;
    }
    const auto bytes = moe::work_of(program, op, rows, program.groups, 0).wire_bytes;
    for (int stage = 0; stage < program.stages; ++stage) {
      if (!moe::runs_in(op, stage)) continue;
      const auto [links, is_new] = known.try_emplace({*group, stage});
      if (is_new) links->second = links_of(program.groups, *group, stage);
      for (const std::string& link : links->second) {
        add(link_key(collective_name(op), link), static_cast<double>(bytes));
      }
    }
  }
  return kinds;
}

namespace {

/// Of more than so many times the units a fit is extrapolated (fit.h).
constexpr double kMostTimes = 2;

/// How many times the known units a kind has; 0 where it is unknown altogether.
double times_known(const Kinds::value_type& kind, const Kinds& known) {
  const auto found = known.find(kind.first);
  return found == known.end() || found->second == 0 ? 0 : kind.second / found->second;
}

}  // namespace

std::vector<std::string> lacking_kinds(const Kinds& kinds, const Kinds& known) {
  std::vector<std::string> lacking;
  for (const auto& kind : kinds) {
    if (!known.contains(kind.first) || times_known(kind, known) > kMostTimes) {
      lacking.push_back(kind.first);
    }
  }
  return lacking;
}

void add_kinds(const Kinds& profiled, Kinds& known) {
  for (const auto& [kind, units] : profiled) {
    double& most = known.try_emplace(kind, 0).first->second;
    most = std::max(most, units);
  }
}

std::size_t profiled_in_whole(std::span<const moe::Program* const> programs) {
  const auto found = std::ranges::find_if(
      programs, [](const moe::Program* program) { return exchanges_rows(*program); });
  return found == programs.end() ? 0 : static_cast<std::size_t>(found - programs.begin());
}

std::optional<std::size_t> next_to_profile(std::span<const Kinds> kinds, const Kinds& known) {
  const auto lack = [&](const Kinds& of_layout) {
    double times = 0;
    for (const auto& kind : of_layout) times = std::max(times, times_known(kind, known));
    return std::pair(lacking_kinds(of_layout, known).size(), times);
  };
  const auto most = std::ranges::max_element(kinds, {}, lack);
  if (most == kinds.end() || lack(*most).first == 0) return std::nullopt;
  return static_cast<std::size_t>(most - kinds.begin());
}

}  // namespace tuner
