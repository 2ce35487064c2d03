#pragma once

#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/groups.h"

namespace moe {

/// Spans of two ranks that cannot be true together: a collective ended on one rank before another
/// rank began it.
struct WrongOrder {
  int op = -1;  ///< -1: there is none
  int ended_rank = 0, begun_rank = 0;
  double apart_s = 0;  ///< from the end to the begin
};

struct ShiftedRanks {
  std::vector<double> by_s;  ///< [rank]: what was added to the times of its spans
  WrongOrder worst = {};     ///< the pair that was furthest apart before
};

/// Puts the spans of ranks into an order that is possible. No rank has the result of a collective
/// of which each member needs the data of all (sums, gathered tokens and counts) before the last
/// member began it. Where spans say so, the clock of a rank is taken to be wrong, that of the rank
/// with most such pairs first, and all its spans are shifted by as little as mends them.
ShiftedRanks shift_into_order(const Program& program, const Groups& groups, Timeline& timeline);

}  // namespace moe
