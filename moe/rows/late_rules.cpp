#include "moe/rows/late_rules.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "moe/rows/late_planning.h"

namespace moe {
namespace {

LatePlanning planned(const LateCopies& copies, LatePlanning at_home) {
  switch (copies.rule) {
    case LateRule::ultraep:
      return plan_ultraep(std::move(at_home), copies.slots);
    case LateRule::moonep:
      return plan_moonep(std::move(at_home));
    case LateRule::llep:
      return plan_llep(std::move(at_home), copies);
  }
  throw std::logic_error("late_plan: no such rule");
}

}  // namespace

LatePlan late_plan(const LateCopies& copies, std::span<const std::int64_t> rows,
                   std::span<const int> homes, int members) {
  const RowsAtHome at_home(rows, homes, members);
  LatePlanning planning = planned(copies, LatePlanning(at_home, copies.slots));
  LatePlan plan;
  for (std::size_t expert = 0; expert < rows.size(); ++expert) {
    plan.push_back({{homes[expert], rows[expert]}});
  }
  std::ranges::sort(planning.transfers, {}, &LateTransfer::to);
  for (const LateTransfer& transfer : planning.transfers) {
    plan[transfer.expert].front().rows -= transfer.rows;
    plan[transfer.expert].push_back({transfer.to, transfer.rows});
  }
  return plan;
}

LatePlan late_plan_in_domains(const LateCopies& copies, std::span<const std::int64_t> rows,
                              std::span<const int> homes, std::span<const int> nodes) {
  if (copies.domain == LateDomain::all) {
    return late_plan(copies, rows, homes, static_cast<int>(nodes.size()));
  }
  std::map<int, std::vector<int>> members;  // by node, ascending
  std::vector<int> place(nodes.size());     // [member]: among those of its node
  for (std::size_t member = 0; member < nodes.size(); ++member) {
    std::vector<int>& of_node = members[nodes[member]];
    place[member] = static_cast<int>(of_node.size());
    of_node.push_back(static_cast<int>(member));
  }
  LatePlan plan(rows.size());
  for (const auto& [node, of_node] : members) {
    std::vector<std::int64_t> rows_there;
    std::vector<int> experts, homes_there;
    for (std::size_t expert = 0; expert < rows.size(); ++expert) {
      if (nodes[homes[expert]] != node) continue;
      experts.push_back(static_cast<int>(expert));
      rows_there.push_back(rows[expert]);
      homes_there.push_back(place[homes[expert]]);
    }
    LatePlan there = late_plan(copies, rows_there, homes_there, static_cast<int>(of_node.size()));
    for (std::size_t i = 0; i < experts.size(); ++i) {
      for (MemberRows& one : there[i]) one.member = of_node[one.member];
      plan[experts[i]] = std::move(there[i]);
    }
  }
  return plan;
}

}  // namespace moe
