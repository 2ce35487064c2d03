#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"

namespace moe {

/// The gradients of a token table that the first stage has for its tokens and the last one for its
/// tied head -> the same, each the sum of both, in place. Every rank adds up with the rank in the
/// same place of the other stage, so that both copies of the table stay the same to the last bit.
/// Each stage has one of the two operands.
struct ReduceTied {
  static constexpr OpFacts facts = collective_op(
      "reduce_tied", Operands::any_number(wide(Cut::rows)), Operands::any_number(wide(Cut::rows)));
  static constexpr GroupKind group = GroupKind::ends;
  int last_stage = 1;
  Work work(const OpSizes& sizes) const;
  /// As AllReduce, of the one gradient.
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

}  // namespace moe
