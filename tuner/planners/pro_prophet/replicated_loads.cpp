#include "tuner/planners/pro_prophet/replicated_loads.h"

#include <algorithm>

namespace tuner {
ReplicatedLoads::ReplicatedLoads(const GroupedRows& rows) : rows_(rows) {
  const auto members = static_cast<std::size_t>(rows.members);
  received_.assign(static_cast<std::size_t>(rows.copies * rows.shards) * members, 0);
  computed_.assign(static_cast<std::size_t>(rows.copies) * members, 0);
  left_.assign(members, 0);
  for (const int home : rows.homes) ++left_[static_cast<std::size_t>(home)];
  settled_.assign(members, 0);
  for (int copy = 0; copy < rows.copies; ++copy) {
    for (int shard = 0; shard < rows.shards; ++shard) {
      const auto first = static_cast<std::size_t>(copy * rows.shards + shard) * members;
      for (int expert = 0; expert < rows.experts; ++expert) {
        const auto home = static_cast<std::size_t>(rows.homes[expert]);
        const auto sent = rows_of(rows, copy, shard, expert);
        std::int64_t all = 0;
        for (const std::int64_t of_member : sent) all += of_member;
        received_[first + home] += all - sent[home];
        computed_[static_cast<std::size_t>(copy) * members + home] += all;
      }
    }
  }
}

void ReplicatedLoads::take(int expert, std::span<const int> holders) {
  const auto members = static_cast<std::size_t>(rows_.members);
  const auto home = static_cast<std::size_t>(rows_.homes[expert]);
  if (--left_[home] == 0) settled_[home] = -1;
  for (int copy = 0; copy < rows_.copies; ++copy) {
    std::int64_t* computed = computed_.data() + static_cast<std::size_t>(copy) * members;
    for (int shard = 0; shard < rows_.shards; ++shard) {
      const auto sent = rows_of(rows_, copy, shard, expert);
      std::int64_t stays = 0;
      for (const int holder : holders) {
        const std::int64_t own = sent[holder];
        computed[holder] += own;
        stays += own;
      }
      computed[home] -= stays;
      received_[static_cast<std::size_t>(copy * rows_.shards + shard) * members + home] -= stays;
    }
  }
}

ReplicatedLoads::Extremes ReplicatedLoads::extremes() const {
  // These reduce values, not iterators, so that they are vectorised: they run all the time.
  const std::size_t members = settled_.size();
  Extremes found;
  found.least_computed = computed_.front();
  for (std::size_t first = 0; first < computed_.size(); first += members) {
    for (std::size_t member = 0; member < members; ++member) {
      const std::int64_t rows = computed_[first + member];
      found.most_computed = std::max(found.most_computed, rows);
      found.least_computed = std::min(found.least_computed, rows);
      found.settled_computed = std::max(found.settled_computed, settled_[member] & rows);
    }
  }
  for (std::size_t first = 0; first < received_.size(); first += members) {
    for (std::size_t member = 0; member < members; ++member) {
      const std::int64_t rows = received_[first + member];
      found.most_received = std::max(found.most_received, rows);
      found.settled_received = std::max(found.settled_received, settled_[member] & rows);
    }
  }
  return found;
}

}  // namespace tuner
