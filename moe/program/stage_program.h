#pragma once

#include <vector>

#include "moe/program/program.h"

namespace moe {

/// The share of a whole Program that the ranks of one pipeline stage carry out. It is a Program
/// itself, with only the tensors and parameters that its ops use. Tensors that the stage does not
/// have are left out of lists (losses), or are -1 in lists by micro-batch (tokens, targets) and in
/// `step`.
struct StageProgram {
  Program program;
  std::vector<int> op_of;  ///< [op]: its place in the whole Program
};

/// The sending stage keeps the reads of a PassOn, the receiving stage its writes.
StageProgram stage_program(const Program& whole, int stage);
/// [stage]: its share of the Program.
std::vector<StageProgram> stage_programs(const Program& whole);

}  // namespace moe
