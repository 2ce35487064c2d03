#pragma once

#include <cstddef>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"

namespace moe {

/// The FLOPs of the matrix products that one rank computes in an iteration: of every op of cost
/// unit flops, what its kind counts under the routing of that iteration. A multiplication and an
/// addition count as two. What is computed again counts again, scores in the gradient of attention
/// among it (2 products forward, 5 backward: 3.5 times forward, where a count of the model's FLOPs,
/// as Megatron-LM's and PaLM's, has 3), and so does what ranks compute alike. Rows that were dropped
/// do not count, and rows that only pad do.
class StepFlops {
 public:
  /// `program`: of the rank's stage, as it is scheduled.
  StepFlops(Program program, Groups groups, int rank);

  /// `routing`: of the stage, with the layers that it has.
  double under(const Routing& routing) const;

 private:
  Program program_;
  Groups groups_;
  int rank_;
  double fixed_ = 0;              ///< of the ops whose sizes no routing changes
  std::vector<std::size_t> ops_;  ///< places of the others
};

}  // namespace moe
