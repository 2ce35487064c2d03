#pragma once

#include <optional>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// The first op that would stand on another side of one of `moved` (places in the Program, ascending) if these stood
/// right behind `target`, and that may not: one of the two uses what the other makes. None where they may move.
std::optional<std::size_t> in_the_way(const Program& program, const std::vector<std::size_t>& moved,
                                      std::size_t target);

/// The same ops with `moved` right behind `target`, in the order they had.
Program moved_behind(Program program, const std::vector<std::size_t>& moved, std::size_t target);

}  // namespace moe
