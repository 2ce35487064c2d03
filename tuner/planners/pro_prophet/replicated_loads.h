#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/planners/placement/placed_loads.h"

namespace tuner {

/// placed_loads(), kept up to date while experts are replicated one after another. Rows of members
/// that do not hold an expert go to its home. It refers to `rows`.
class ReplicatedLoads {
 public:
  explicit ReplicatedLoads(const GroupedRows& rows);

  /// Takes an expert. Each expert is taken once. `holders`: the members that hold it beside its
  /// home from now on, if any.
  void take(int expert, std::span<const int> holders);

  struct Extremes {
    std::int64_t most_received = 0;
    std::int64_t most_computed = 0, least_computed = 0;
    /// The largest loads of members whose experts have all been taken: they never fall again.
    std::int64_t settled_received = 0, settled_computed = 0;
  };
  Extremes extremes() const;

 private:
  const GroupedRows& rows_;
  std::vector<std::int64_t> received_;  // [copy][shard][member]
  // [copy][member]: equal on all ranks that share the member's experts
  std::vector<std::int64_t> computed_;
  std::vector<int> left_;              // [member]: number of its experts not taken yet
  std::vector<std::int64_t> settled_;  // [member]: a mask, all bits set where none is left, else 0
};

}  // namespace tuner
