#pragma once

#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// An op on the critical path of a timeline, and its time there; for a collective the time from the
/// arrival of its last participant.
struct PathStep {
  int op = 0;
  int rank = 0;
  double seconds = 0;
};

/// The ops that make up the duration of a timeline, last op first. It starts at the op that ends
/// last and goes from each op to the one whose end it waited for: on its stream, by start_rule.h,
/// or, for a collective, on the rank that arrived last. The gaps between them are launch gaps.
std::vector<PathStep> critical_path(const moe::Program& program, const std::vector<OpCost>& costs,
                                    const moe::Timeline& timeline);

}  // namespace tuner
