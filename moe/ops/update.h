#pragma once

#include <vector>

#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"

/// Ops on gradients that are complete, and on parameters.
namespace moe {

/// gradients -> the same gradients, summed over the group in place
struct AllReduce {
  static constexpr OpFacts facts = collective_op(
      "all_reduce", Operands::any_number(wide(Cut::rows)), Operands::any_number(wide(Cut::rows)));
  GroupKind group = GroupKind::stage;
  Work work(const OpSizes& sizes) const;
  /// As in a ring: 2 (n-1)/n of the data to the next rank.
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// gradient[n], step i32[1,1] (1 in the first iteration), parameter[n], first_moment[n],
/// second_moment[n] -> parameter[n], first_moment[n], second_moment[n]. The moments are corrected
/// for their start at zero; there is no weight decay
struct AdamStep {
  static constexpr OpFacts facts =
      kernel_op("adam_step", CostUnit::bytes,
                {wide(Cut::rows), integers(Cut::whole), Cut::rows, wide(Cut::rows), wide(Cut::rows),
                 wide(Cut::rows)},
                {Cut::rows, wide(Cut::rows), wide(Cut::rows), wide(Cut::rows)});
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  Work work(const OpSizes& sizes) const;
};
/// gradient[n], parameter[n], momentum[n] -> parameter[n], momentum[n]:
/// momentum = factor * momentum + gradient, parameter -= learning_rate * momentum
struct SgdStep {
  static constexpr OpFacts facts = kernel_op(
      "sgd_step", CostUnit::bytes, {wide(Cut::rows), Cut::rows, wide(Cut::rows), wide(Cut::rows)},
      {Cut::rows, wide(Cut::rows), wide(Cut::rows)});
  double learning_rate = 1e-2, momentum = 0.9;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
