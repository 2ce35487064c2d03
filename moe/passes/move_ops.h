#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// The first op that prevents `moved` (positions in the Program, ascending) from moving to right
/// after `target`: the order of that op and one of `moved` would change although one of the two
/// uses what the other makes. None where they may move.
std::optional<std::size_t> refusing_op(const Program& program,
                                       const std::vector<std::size_t>& moved, std::size_t target);

/// The positions in the Program right after which `moved` may stand: from `first` up to, not
/// including, `end`.
struct PlacesAfter {
  std::size_t first, end;
};
PlacesAfter allowed_places(const Program& program, const std::vector<std::size_t>& moved);

/// The same ops with `moved` right after `target`, in the order they had.
Program moved_behind(Program program, const std::vector<std::size_t>& moved, std::size_t target);

}  // namespace moe
