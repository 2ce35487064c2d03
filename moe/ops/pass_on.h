#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"

namespace moe {

/// x[T,M] of Op::stage -> y[T,M] of the stage before or after it. Every rank sends to the rank in
/// the same place of that stage. Two stages carry it out: one reads, the other writes.
struct PassOn {
  static constexpr OpFacts facts = collective_op("pass_on", {Cut::rows}, {Cut::rows});
  int to_stage = 1;
  GroupKind group = GroupKind::even_boundary;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

}  // namespace moe
