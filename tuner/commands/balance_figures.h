#pragma once

#include "tuner/study/prediction.h"

namespace tuner {

/// Rows that the fullest rank of a stage computes, over the mean, in the routed layer where that is
/// the most: 1 where loads are even. Of the predicted iteration, under the schedule's placements,
/// those after the gate included.
double max_over_mean(const Situation& situation, const moe::Schedule& schedule,
                     const Prediction& prediction);

/// The share of the throughput that the schedule would have if every expert got as many rows from
/// every rank, and none were computed away from home: the simulated time of that over the predicted
/// one.  [UltraEP's measure]
double force_balanced_share(const Situation& situation, const moe::Schedule& schedule,
                            const Prediction& prediction);

}  // namespace tuner
