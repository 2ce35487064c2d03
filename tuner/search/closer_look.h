#pragma once

#include <limits>
#include <optional>

#include "tuner/search/candidate.h"
#include "tuner/search/fewer_micro_batches.h"

namespace tuner {

/// Learns more of a candidate: first the bound of its setup's own pieces, then whether one
/// micro-batch fits, the lower bound of its whole Program, and, where no other can be faster than
/// that, its memory and its time. `next_s`: what others cannot beat. What of the setup was planned
/// and simulated is kept for its other candidates.
void look_closer(SearchedSetups& searched, SearchCandidate& one, double next_s);

/// For a PlanningProgress: planners say nothing of their own, as the search does.
inline constexpr double kSilentPlanner_s = std::numeric_limits<double>::infinity();

/// With what is known of the setup with the scenario's micro-batches, and with a planner that is
/// silent.
Situation remembered_situation(SearchedSetups& searched, std::size_t setup,
                               const Scenario& scenario, PlanningProgress& silent);

/// The fewer micro-batches by which the setup is predicted in this order; none: by all of them.
std::optional<FewerMicroBatches> fewer_of(SearchedSetups& searched, std::size_t setup,
                                          const Planner& order);

/// The model with the micro-batches by which the setup is predicted.
moe::Model predicted_model(const SearchedSetups& searched, const TrainingSetup& setup,
                           const std::optional<FewerMicroBatches>& fewer);

}  // namespace tuner
