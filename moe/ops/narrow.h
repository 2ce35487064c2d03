#pragma once

#include "moe/rows/op_facts.h"

namespace moe {

/// x[n,c] -> y[n,c], rounded to the type that activations are stored in. Gradients of logits, which
/// are wide, enter products with it.
struct Narrow {
  static constexpr OpFacts facts =
      kernel_op("narrow", CostUnit::bytes, {wide(Cut::rows)}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
