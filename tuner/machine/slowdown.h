#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tuner/costs/calibrate.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/observe.h"
#include "tuner/costs/op_costs.h"

/// How fast a rank computed at one moment is one number, its slowdown: measured over expected
/// seconds of its computation, both in sum. A processor that other guests of a host use too, or that
/// changes its clock, computes 1.1 to 1.5 times slower in some minutes than in others, and not all
/// of a machine's do so at once. In every exchange the ranks wait for the slowest of them. So an
/// iteration takes longer than it would if all ranks computed at their typical speed.
namespace tuner {

/// How many iterations slowdowns_of() keeps.
inline constexpr int kMostSlowdowns = 16;

/// The slowdowns of the ranks in the observed iterations. Only ops with nothing beside them count,
/// so neither interference nor the schedule matters. Where ranks share processors (calibrate.h)
/// single ops get more or less than their share, and all ranks have the slowdown of all together.
/// None where a rank has no op that was alone.
std::optional<Slowdowns> slowdowns_in(const Observations& seen, const CostModel& costs, int ranks,
                                      const std::vector<SharedProcessors>& shared_processors);

/// The slowdowns of measured iterations, for predictions of others with `costs`. Iterations count
/// in which most computation ran alone, at most kMostSlowdowns of them, evenly spread. All are
/// scaled to one mean over the ranks, the median of the iterations: how far ranks differ within an
/// iteration makes it longer, and how fast all of them were in that moment is chance. The mean
/// itself is near 1. It is above 1 where few ops take far longer than others of their size, which
/// the fits, being medians, leave out. Empty for a single rank, and where ranks share processors.
std::vector<Slowdowns> slowdowns_of(std::span<const MeasuredIteration> iterations,
                                    const CostModel& costs,
                                    const std::vector<SharedProcessors>& shared_processors);

/// CostModel::slowdowns where they are of as many ranks, else none.
std::span<const Slowdowns> slowdowns_of_ranks(const CostModel& costs, int ranks);

/// Multiplies the times of computation by the slowdowns of the ranks. A class of ranks has that of
/// its slowest. Copies and collectives stay. Throws std::invalid_argument unless `slowdowns` are of
/// as many ranks as the costs.
void set_slowdowns(const Slowdowns& slowdowns, ProgramCosts& costs);

}  // namespace tuner
