#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/planners/placement/placed_loads.h"

namespace tuner {

/// placed_loads() kept up to date as experts are replicated one after another, rows of members that
/// do not hold an expert going home. Refers to `rows`.
class ReplicatedLoads {
 public:
  explicit ReplicatedLoads(const GroupedRows& rows);

  /// `holders`: members that hold it beside its home from now on, if any; each expert once.
  void take(int expert, std::span<const int> holders);

  struct Extremes {
    std::int64_t most_received = 0;
    std::int64_t most_computed = 0, least_computed = 0;
    /// Of members whose experts have all been taken: whatever is taken next, neither falls again.
    std::int64_t settled_received = 0, settled_computed = 0;
  };
  Extremes extremes() const;

 private:
  const GroupedRows& rows_;
  std::vector<std::int64_t> received_;  // [copy][shard][member]
  std::vector<std::int64_t>
      computed_;           // [copy][member]: alike on all that share the member's experts
  std::vector<int> left_;  // [member]: experts that were not taken yet
  std::vector<std::int64_t> settled_;  // [member]: all bits where none is left, else none
};

}  // namespace tuner
