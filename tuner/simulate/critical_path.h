#pragma once

#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// An op on the way to the end of a timeline, and how long it took there: of a collective from the
/// arrival of its last participant.
struct PathStep {
  int op = 0;
  int rank = 0;
  double seconds = 0;
};

/// What the duration of a timeline is made of, last op first: from the op that ends last, again and again
/// to the one whose end it waited for (on its stream, by start_rule.h, or as a collective on the rank
/// that arrived last). The gaps between them are launch gaps.
std::vector<PathStep> critical_path(const moe::Program& program, const std::vector<OpCost>& costs,
                                    const moe::Timeline& timeline);

}  // namespace tuner
