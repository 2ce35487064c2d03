#pragma once

#include <functional>
#include <span>

#include "tuner/planners/situation/plan_memory.h"
#include "tuner/study/prediction.h"

namespace tuner {

/// The plan for a situation whose only routing is that of the iteration that it is made from.
using PlanIteration = std::function<moe::Schedule(const Situation&)>;

/// Iterations under the plans that a training would have had.
struct Replay {
  Prediction prediction;   ///< of the median iteration
  moe::Schedule schedule;  ///< in force in it
  int plans = 0;           ///< how many were made
};

/// Predicts all iterations but the first of routings_of(situation). As a training with --plan-every
/// does, it plans from the loads of the first iteration and of every `plan_every`th after it, and
/// each plan is in force from the iteration after until the next one. Experts that move to other
/// homes from plan to plan cost nothing. Plans do not know how unequally fast the ranks of an
/// iteration compute, and their predictions do: each has one of CostModel::slowdowns, in turn.
/// `memories`: one for each iteration, of what was planned from it. Throws std::invalid_argument
/// where there are less than two iterations.
Replay replay(const Situation& situation, const Planner& planner, int plan_every,
              std::span<PlanMemory> memories, const PlanIteration& plan);

}  // namespace tuner
