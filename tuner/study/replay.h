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

/// When a plan is made, and of what it knows.
struct ReplayTurns {
  int plan_every = 1;
  int history = 1;  ///< by how many past iterations a planner may judge its plans
};

/// Predicts all iterations but the first `history` of routings_of(situation). As a training with
/// --plan-every does, it plans from the loads of the last of these and of every `plan_every`th
/// iteration after it, and each plan is in force from the iteration after until the next one.
/// Experts that move to other
/// homes from plan to plan cost nothing. Plans do not know how unequally fast the ranks of an
/// iteration compute, and their predictions do: each has one of CostModel::slowdowns, in turn.
/// `memories`: one for each iteration, of what was planned from it alone and predicted for it. Throws
/// std::invalid_argument where there are not more iterations than `history`.
Replay replay(const Situation& situation, const Planner& planner, const ReplayTurns& turns,
              std::span<PlanMemory> memories, const PlanIteration& plan);

}  // namespace tuner
