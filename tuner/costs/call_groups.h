#pragma once

#include <map>
#include <utility>
#include <vector>

#include "moe/program/op.h"
#include "moe/rows/groups.h"
#include "tuner/costs/rank_classes.h"

namespace tuner {

/// The ranks of a call, all of them and by class.
struct CallGroup {
  std::vector<int> members;
  std::vector<int> ranks, copies;  ///< as in GroupCall
  bool inside = true;              ///< all on one node
};

/// The calls of a collective: of groups that have a class in common, the first.
struct Calls {
  std::vector<CallGroup> groups;
  std::vector<int> of;  ///< OpCost::call_of
};

/// Remembers the calls of collectives in the same groups and stages: a Program has thousands of
/// ops, and a group may have thousands of ranks.
class KnownCalls {
 public:
  /// Keeps references to both.
  KnownCalls(const moe::Groups& groups, const RankClasses& classes)
      : groups_(groups), classes_(classes) {}

  /// Of an op that communicates.
  const Calls& of(const moe::Op& op);

 private:
  const moe::Groups& groups_;
  const RankClasses& classes_;
  /// By the kind of groups, and the stages that run the op.
  std::map<std::pair<moe::GroupKind, std::vector<int>>, Calls> known_;
};

}  // namespace tuner
