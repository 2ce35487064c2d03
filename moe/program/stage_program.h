#pragma once

#include <vector>

#include "moe/program/program.h"

namespace moe {

/// What the ranks of one pipeline stage carry out of a whole Program: a Program by itself, with the tensors
/// and parameters that its ops use. What the stage does not have (tokens, losses) is absent, or -1 where it
/// has a place of its own.
struct StageProgram {
  Program program;
  std::vector<int> op_of;  ///< by op: its place in the whole Program
};

/// Of rows that are passed on the sending stage keeps what is read, the receiving one what is written.
StageProgram stage_program(const Program& whole, int stage);
/// Of every stage.
std::vector<StageProgram> stage_programs(const Program& whole);

}  // namespace moe
