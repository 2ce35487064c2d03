#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/records.h"

/// The memory of a timeline's ranks over the iteration.
namespace db {

/// The bytes in use from a time on, until the next step.
struct MemoryStep {
  double at_s = 0;
  double bytes = 0;
};

/// One pool of a rank: the memory of its device, or that of the host.
struct PoolUse {
  std::vector<MemoryStep> steps;  ///< ascending times, from the begin of the timeline; empty where
                                  ///< the rank has nothing in this pool
  double persistent_bytes = 0;    ///< of tensors that live over iterations
  double planned_bytes = 0;       ///< the highest byte of the plan: what is set aside
  MemoryStep peak;                ///< the first moment at which most is in use
};

struct RankMemory {
  int rank = 0;
  std::size_t first = 0;  ///< allocations[first, first + count) are those of the rank
  std::size_t count = 0;
  PoolUse device, host;
  /// The highest byte of the device's memory that the run wrote to; none where it was not measured.
  std::optional<double> touched_bytes;
};

struct MemoryTable {
  std::vector<TimelineTensor> tensors;  ///< ascending numbers
  std::vector<Allocation> allocations;  ///< by rank
  std::vector<RankMemory> ranks;        ///< ascending; empty where the memory is not known
};

/// Allocations that no memory can have (sizes below zero, times that are not finite, tensors that
/// are not described) are left out. `run_ranks` tell what was touched, and may be empty.
MemoryTable build_memory_table(TimelineMemory memory, const std::vector<RunRank>& run_ranks);

/// The memory of a rank; null where it is not known.
const RankMemory* memory_of(const MemoryTable& table, int rank);
/// The rank with the highest peak on its device; null in an empty table.
const RankMemory* fullest_rank(const MemoryTable& table);

/// The bytes in use at a time.
double bytes_at(const PoolUse& use, double at_s);

/// Memory that is in use: of a tensor that lives within the iteration, or of all tensors of a role
/// that live over iterations.
struct MemoryItem {
  std::string name;  ///< of the tensor; empty for a role
  std::string role;
  std::string pool;
  double bytes = 0;
  std::size_t tensors = 0;
  const Allocation* allocation = nullptr;  ///< of the tensor; null for a role
};

/// What is in use on a rank at a time: parameters and what else lives over iterations by role, then
/// single tensors, largest first.
std::vector<MemoryItem> items_at(const MemoryTable& table, const RankMemory& rank, double at_s);

}  // namespace db
