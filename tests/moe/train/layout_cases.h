#pragma once

#include <string>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/model/model.h"
#include "moe/rows/layout.h"
#include "tests/moe/train/training_case.h"

/// The layouts of the papers and of large models, on threads (layout_test.cpp) and on processes
/// (layout_mpi.cpp).
namespace moe::test {

struct LayoutCase {
  std::string name;
  Layout layout;
  Schedules schedules;  ///< by step, the last one from there on
};

/// The layouts of 4 or 8 ranks. Pipelines run under GPipe and under 1F1B, exchanges in chunks and
/// whole.
std::vector<LayoutCase> layout_cases(int ranks);

/// A model that all these layouts can train, in micro-batches and in double; every row is kept.
Model layout_model();

/// Trains layout_model() on the ranks of `world`, and on one rank for comparison. Reports to
/// GoogleTest where losses, the rank's part of a gradient, or its touched peak are not as they
/// should be. Collective.
void check_layout(const LayoutCase& layout_case, Communicator& world);

}  // namespace moe::test
