#include "tuner/costs/call_groups.h"

namespace tuner {
namespace {

CallGroup call_group(std::vector<int> members, const moe::Groups& groups,
                     const RankClasses& classes) {
  CallGroup group;
  group.members = std::move(members);
  const int first_node = groups.node_of[group.members.front()];
  for (const int rank : group.members) group.inside &= groups.node_of[rank] == first_node;
  if (classes.rank_of.size() == classes.of_rank.size()) {
    group.ranks = group.members;
    return group;
  }
  std::vector<int> copies(classes.rank_of.size());
  for (const int rank : group.members) ++copies[classes.of_rank[rank]];
  for (std::size_t one = 0; one < copies.size(); ++one) {
    if (copies[one] == 0) continue;
    group.ranks.push_back(static_cast<int>(one));
    group.copies.push_back(copies[one]);
  }
  return group;
}

}  // namespace

const Calls& KnownCalls::of(const moe::Op& op) {
  const moe::GroupKind kind = moe::group_of(op).value();
  std::vector<int> stages;
  for (int stage = 0; stage < groups_.layout.pipeline; ++stage) {
    if (moe::runs_in(op, stage)) stages.push_back(stage);
  }
  const auto [found, is_new] = known_.try_emplace({kind, std::move(stages)});
  Calls& calls = found->second;
  if (!is_new) return calls;
  calls.of.assign(classes_.rank_of.size(), -1);
  for (std::size_t one = 0; one < classes_.rank_of.size(); ++one) {
    const int rank = classes_.rank_of[one];
    if (calls.of[one] >= 0 || !moe::runs_in(op, moe::stage_of(groups_, rank))) continue;
    calls.groups.push_back(call_group(moe::members(groups_, kind, rank), groups_, classes_));
    for (const int member : calls.groups.back().ranks) {
      calls.of[member] = static_cast<int>(calls.groups.size()) - 1;
    }
  }
  return calls;
}

}  // namespace tuner
