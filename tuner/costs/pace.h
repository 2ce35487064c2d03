#pragma once

#include <map>
#include <span>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "tuner/costs/calibrate.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/observe.h"
#include "tuner/costs/op_costs.h"

/// How fast ranks really computed. Processors that are shared with other guests of a host, or that
/// change their clock, compute 1.1 to 1.5 times slower in some minutes than in others, and not all
/// of a machine's do so at once. In every exchange the ranks wait for the slowest of them. So an
/// iteration takes longer than on ranks that all compute at their typical speed.
namespace tuner {

/// The pace of each rank in these iterations: measured over expected seconds of its computation,
/// both in sum. Only ops with nothing beside them count, so neither interference nor the schedule
/// matters. A class of ops without observations has the pace of all. Where ranks share processors
/// (calibrate.h) single ops get more or less than their share: all ranks count together, as rank 0.
/// Ranks without an op that was alone are absent.
std::map<int, RankPace> rank_paces(const Observations& seen, const CostModel& costs,
                                   bool ranks_share_processors);

/// The paces of measured iterations, for predictions of others with `costs`. Iterations count in
/// which most computation ran alone, at most kMostPaces of them, evenly spread. Their mean over the
/// ranks is made the same for all, the median of the iterations: how far ranks differ within an
/// iteration makes it longer, and how fast all of them are is in the fits. None where ranks share
/// processors.
std::vector<Paces> paces_of(std::span<const MeasuredIteration> iterations,
                            const moe::Groups& groups, const CostModel& costs,
                            const std::vector<SharedProcessors>& shared_processors);

inline constexpr int kMostPaces = 16;

/// Changes the costs of computation to those of ranks with these paces. A class of ranks has the
/// pace of its slowest. Copies and collectives stay.
void set_paces(const moe::Program& program, const Paces& paces, ProgramCosts& costs);

}  // namespace tuner
