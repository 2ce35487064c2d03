#pragma once

#include <map>
#include <optional>

#include "tuner/costs/cost_model.h"
#include "tuner/costs/observe.h"

/// Tells how much slower processors compute in some iterations than in those that costs were fitted
/// to. A processor that is shared with other guests of a host, or that changes its clock, computes
/// 1.1 to 1.5 times slower in some minutes than in others; not all of a machine's do so at once.
namespace tuner {

/// How many times as long computation took alone as in other iterations, or as costs say.
struct ComputeSlowdown {
  double by_flops = 1;  ///< matrix products and attention
  double by_bytes = 1;  ///< what memory limits
  double all = 1;       ///< all computation together
};

/// How many times as long as the costs say, by rank. Only ops with nothing beside them count, so
/// neither interference nor the schedule matters. Of the ops of one shape it is the median of
/// measured over expected seconds; shapes weigh as many seconds as are expected of them. A class
/// without observations has that of all. Where ranks share processors (calibrate.h) single ops get
/// more or less than their share: sums over all ranks count instead, as rank 0. Ranks without an op
/// that was alone are absent.
std::map<int, ComputeSlowdown> against_costs(const Observations& seen, const CostModel& costs,
                                             bool ranks_share_processors);

/// How many times as long computation took in trials as in the profile, both against the costs of
/// the profile: that of the rank that was slowed most, since the others wait for it in every
/// exchange. None where no rank is in both.
std::optional<ComputeSlowdown> compute_slowdown(const std::map<int, ComputeSlowdown>& trials,
                                                const std::map<int, ComputeSlowdown>& profile);

/// The costs with computation that takes as many times as long. Copies, which `seen` tells from
/// computation, and collectives stay.
CostModel slowed(CostModel costs, const ComputeSlowdown& slowdown, const Observations& seen);

}  // namespace tuner
