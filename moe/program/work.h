#pragma once

#include <cstdint>
#include <vector>

#include "moe/program/binding.h"
#include "moe/program/groups.h"
#include "moe/program/program.h"

namespace moe {

/// What one op has to do on one rank: the single place that costs, rooflines and bandwidths read.
struct Work {
  double flops = 0;               ///< multiply and add counted as two
  std::int64_t memory_bytes = 0;  ///< read plus written, each tensor slice once
  std::int64_t wire_bytes =
      0;                   ///< communication: the larger of sent to and received from other ranks
  std::int64_t calls = 1;  ///< GEMMs or kernels launched one after the other
};

Work work_of(const Program& program, const Op& op, const Binding& binding, const Groups& groups,
             int rank);

/// Bytes that this rank sends to each member of the op's group (itself included as 0). Empty unless
/// communication. All-reduce counts the ring: 2 (n-1)/n of the data to the next rank.
std::vector<std::int64_t> bytes_to_peers(const Program& program, const Op& op,
                                         const Binding& binding, const Groups& groups, int rank);

}  // namespace moe
