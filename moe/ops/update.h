#pragma once

#include <cstdint>
#include <vector>

#include "moe/ops/learning_rate.h"
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

/// gradients -> the same gradients. In each, the share of a rank (element_share.h) is the sum over
/// the group, in place. The rest is not defined.
struct ReduceShares {
  static constexpr OpFacts facts =
      collective_op("reduce_shares", Operands::any_number(wide(Cut::rows)),
                    Operands::any_number(wide(Cut::rows)));
  GroupKind group = GroupKind::stage;
  Work work(const OpSizes& sizes) const;
  /// A rank sends to every other rank the shares of that rank.
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};
/// parameters of one type -> the same parameters. In each, every share is that of the rank of the
/// group that owns it, in place.
struct GatherShares {
  static constexpr OpFacts facts =
      collective_op("gather_shares", Operands::any_number(either(Cut::rows)),
                    Operands::any_number(either(Cut::rows)));
  GroupKind group = GroupKind::stage;
  Work work(const OpSizes& sizes) const;
  /// A rank sends its shares to every other rank.
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// gradient[n], step i32[1,1] (1 in the first iteration), parameter[n], first_moment[n],
/// second_moment[n], (remainder[n]), (clip_factor[1,1]) -> parameter[n], first_moment[n],
/// second_moment[n], (remainder[n]). The gradient is taken times the factor; below 0 nothing changes. The moments are corrected for their
/// start at zero. The parameter first shrinks to 1 - learning rate * weight_decay of itself, which
/// is no part of the moments (AdamW). A parameter in bf16 has a remainder (kernels/bf16.h): the f32
/// that both make, its master, is updated in its place.
struct AdamStep {
  static constexpr OpFacts facts =
      kernel_op("adam_step", CostUnit::bytes,
                {wide(Cut::rows), integers(Cut::whole), Cut::rows, wide(Cut::rows), wide(Cut::rows),
                 either(Cut::rows), wide(Cut::whole)},
                {Cut::rows, wide(Cut::rows), wide(Cut::rows), either(Cut::rows)});
  LearningRate rate{};
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;
  Work work(const OpSizes& sizes) const;
  friend bool operator==(const AdamStep&, const AdamStep&) = default;
};
/// gradient[n], step i32[1,1], parameter[n], momentum[n], (remainder[n]), (clip_factor[1,1]) ->
/// parameter[n], momentum[n], (remainder[n]): with g = clip_factor * gradient + weight_decay * parameter and mu the op's
/// momentum, momentum = mu * momentum + g, parameter -= learning rate * momentum; with Nesterov's
/// momentum, parameter -= learning rate * (g + mu * momentum) instead. The remainder as in AdamStep.
struct SgdStep {
  static constexpr OpFacts facts = kernel_op("sgd_step", CostUnit::bytes,
                                             {wide(Cut::rows), integers(Cut::whole), Cut::rows,
                                              wide(Cut::rows), either(Cut::rows), wide(Cut::whole)},
                                             {Cut::rows, wide(Cut::rows), either(Cut::rows)});
  LearningRate rate{.peak = 1e-2};
  double momentum = 0.9;
  double weight_decay = 0;
  bool nesterov = false;
  Work work(const OpSizes& sizes) const;
  friend bool operator==(const SgdStep&, const SgdStep&) = default;
};

}  // namespace moe
