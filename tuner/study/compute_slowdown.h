#pragma once

#include <optional>

#include "tuner/costs/cost_model.h"
#include "tuner/costs/observe.h"

/// Tells how much slower processors compute in some iterations than in those that costs were fitted
/// to. A processor that is shared with other guests of its host, or that changes its clock, computes
/// 1.1 to 1.5 times slower in some minutes than in others, and not all of a machine's do so at once.
namespace tuner {

/// How many times as long computation took alone as the costs say.
struct ComputeSlowdown {
  double by_flops = 1;  ///< matrix products and attention
  double by_bytes = 1;  ///< what memory limits
  double all = 1;       ///< all computation together
};

/// The slowdown of the rank that was slowed most: the others wait for it in every exchange. Only ops
/// with nothing beside them count, so neither interference nor the schedule matters. Of the ops of
/// one shape it is the median of measured over expected seconds; shapes weigh as many seconds as are
/// expected of them. A class without observations has that of all. Where ranks share processors
/// (calibrate.h) single ops get more or less than their share: sums over all ranks count instead.
/// None where no op was alone.
std::optional<ComputeSlowdown> compute_slowdown(const Observations& seen, const CostModel& costs,
                                                bool ranks_share_processors);

/// The costs with computation that takes as many times as long. Copies, which `seen` tells from
/// computation, and collectives stay.
CostModel slowed(CostModel costs, const ComputeSlowdown& slowdown, const Observations& seen);

}  // namespace tuner
