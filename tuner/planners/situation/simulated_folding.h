#pragma once

#include "tuner/costs/op_costs.h"

namespace tuner {

/// How schedules are judged and predicted: calls among more than 16 ranks have a flow for each rank
/// and link in place of one for each pair of ranks. Times differ by less than 0.1%, and a planner
/// that simulates dozens of schedules of 48 ranks takes a tenth of the time.
inline constexpr Folding kSimulatedFolding{.most_pairs = 16 * 16};

}  // namespace tuner
