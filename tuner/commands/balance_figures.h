#pragma once

#include <cstdint>
#include <optional>

#include "db/timeline/timeline.h"
#include "tuner/planners/situation/plan_memory.h"
#include "tuner/study/prediction.h"

namespace tuner {

/// Rows that the fullest rank of a stage computes, over the mean, in the routed layer where that is
/// the most: 1 where loads are even. Of the predicted iteration, under the schedule's placements,
/// those after the gate included.
double max_over_mean(const Situation& situation, const moe::Schedule& schedule,
                     const Prediction& prediction);

/// What replicas cost an iteration.
struct ReplicaFigures {
  double away_share = 0;          ///< rows that are computed away from the homes of their experts
  std::int64_t expert_bytes = 0;  ///< parameters sent and gradients returned, by all ranks together
  double rule_s = 0;              ///< of all rules that a rank works out, one after the other
  double exposed_experts_s = 0;   ///< of these transfers, exposed; the mean of the ranks
  friend bool operator==(const ReplicaFigures&, const ReplicaFigures&) = default;
};
/// Of the predicted iteration. None where the schedule replicates no expert.
std::optional<ReplicaFigures> replica_figures(const Situation& situation,
                                              const moe::Schedule& schedule,
                                              const Prediction& prediction,
                                              const db::Timeline& timeline);

/// A situation in which every expert gets equally many rows from every rank. Schedules that differ only
/// in their placements are simulated there once.
class EvenLoads {
 public:
  /// What the situation refers to must outlive it.
  explicit EvenLoads(const Situation& situation);
  EvenLoads(const EvenLoads&) = delete;
  EvenLoads& operator=(const EvenLoads&) = delete;

  /// The share of the throughput that the schedule would have if loads were even and nothing were
  /// computed away from home: the simulated time of that over the predicted one.  [UltraEP's
  /// measure]
  double force_balanced_share(const moe::Schedule& schedule, const Prediction& prediction) const;

 private:
  moe::Routing even_;
  PlanMemory memory_;
  Situation situation_;
};

}  // namespace tuner
