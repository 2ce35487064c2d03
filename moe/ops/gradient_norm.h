#pragma once

#include <cstdint>
#include <vector>

#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"

/// Ops that work out the norm of all gradients together, and by how much it is over a limit. A rank
/// adds up the squares of its own gradients, then all ranks add up their sums.
namespace moe {

/// gradients (any number) -> sums[B,1]: `weight` times the sum of the squares of every block of
/// kBlock elements, gradient by gradient; blocks_of() counts them. Where B is larger, zeros follow.
struct SumSquares {
  static constexpr OpFacts facts = kernel_op(
      "sum_squares", CostUnit::bytes, Operands::any_number(wide(Cut::rows)), {wide(Cut::whole)});
  static constexpr std::int64_t kBlock = 16384;
  static constexpr std::int64_t blocks_of(std::int64_t elements) {
    return (elements + kBlock - 1) / kBlock;
  }
  /// One over the ranks of the stage that hold the same elements, so that each counts once.
  double weight = 1;
  Work work(const OpSizes& sizes) const;
};
/// sums[B,1] (any number) -> sum[1,1]
struct AddSquares {
  static constexpr OpFacts facts = kernel_op(
      "add_squares", CostUnit::bytes, Operands::any_number(wide(Cut::whole)), {wide(Cut::whole)});
  Work work(const OpSizes& sizes) const;
};
/// sum[1,1] of every pipeline stage -> the same, added up over all ranks in place. The ranks of all
/// stages carry it out together, each with the sum of its stage.
struct ReduceNorm {
  static constexpr OpFacts facts =
      collective_op("reduce_norm", Operands::any_number(wide(Cut::whole)),
                    Operands::any_number(wide(Cut::whole)));
  static constexpr GroupKind group = GroupKind::world;
  Work work(const OpSizes& sizes) const;
  /// As AllReduce, of one number.
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};
/// sum of squares[1,1], (limit[1,1]) -> norm[1,1], factor[1,1]: the norm is the root of the sum,
/// and the factor that takes a gradient to at most `largest_norm` is largest_norm / (norm + 1e-6),
/// at most 1. It is -1, with which no step is made, where the norm is above the limit.
struct ClipFactor {
  static constexpr OpFacts facts =
      kernel_op("clip_factor", CostUnit::bytes, {wide(Cut::whole), wide(Cut::whole)},
                {wide(Cut::whole), wide(Cut::whole)});
  double largest_norm = 1;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
