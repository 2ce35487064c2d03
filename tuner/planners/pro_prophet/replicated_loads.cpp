#include "tuner/planners/pro_prophet/replicated_loads.h"

#include <algorithm>

namespace tuner {
namespace {

/// By values, not by iterators as max_element: vectorised, and asked for all the time.
std::int64_t largest(const std::vector<std::int64_t>& values) {
  std::int64_t most = values.front();
  for (const std::int64_t value : values) most = std::max(most, value);
  return most;
}

/// The largest of those whose member counts 1; `values` of one group's members after another's.
std::int64_t largest_counted(const std::vector<std::int64_t>& values,
                             const std::vector<std::int64_t>& counts) {
  std::int64_t most = 0;
  for (std::size_t first = 0; first < values.size(); first += counts.size()) {
    for (std::size_t member = 0; member < counts.size(); ++member) {
      most = std::max(most, counts[member] * values[first + member]);
    }
  }
  return most;
}

}  // namespace

ReplicatedLoads::ReplicatedLoads(const GroupedRows& rows) : rows_(rows) {
  const auto members = static_cast<std::size_t>(rows.members);
  received_.assign(static_cast<std::size_t>(rows.copies * rows.shards) * members, 0);
  computed_.assign(static_cast<std::size_t>(rows.copies) * members, 0);
  left_.assign(members, rows.experts / rows.members);
  settled_.assign(members, 0);
  for (int copy = 0; copy < rows.copies; ++copy) {
    for (int shard = 0; shard < rows.shards; ++shard) {
      const auto first = static_cast<std::size_t>(copy * rows.shards + shard) * members;
      for (int expert = 0; expert < rows.experts; ++expert) {
        const auto home = static_cast<std::size_t>(home_of(expert, rows.experts, rows.members));
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
  const auto home = static_cast<std::size_t>(home_of(expert, rows_.experts, rows_.members));
  if (--left_[home] == 0) settled_[home] = 1;
  for (int copy = 0; copy < rows_.copies; ++copy) {
    std::int64_t* computed = computed_.data() + static_cast<std::size_t>(copy) * members;
    for (int shard = 0; shard < rows_.shards; ++shard) {
      const auto sent = rows_of(rows_, copy, shard, expert);
      std::int64_t stays = 0;
      for (const int holder : holders) {
        const std::int64_t own = sent[static_cast<std::size_t>(holder)];
        computed[holder] += own;
        stays += own;
      }
      computed[home] -= stays;
      received_[static_cast<std::size_t>(copy * rows_.shards + shard) * members + home] -= stays;
    }
  }
}

std::int64_t ReplicatedLoads::most_received() const { return largest(received_); }

std::int64_t ReplicatedLoads::most_computed() const { return largest(computed_); }

std::int64_t ReplicatedLoads::least_computed() const {
  std::int64_t least = computed_.front();
  for (const std::int64_t rows : computed_) least = std::min(least, rows);
  return least;
}

std::int64_t ReplicatedLoads::settled_received() const {
  return largest_counted(received_, settled_);
}

std::int64_t ReplicatedLoads::settled_computed() const {
  return largest_counted(computed_, settled_);
}

}  // namespace tuner
