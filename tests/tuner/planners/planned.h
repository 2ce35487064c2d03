#pragma once

#include <string_view>

#include "tuner/planners/planners.h"

namespace tuner::test {

/// What the planner of this name chooses.
inline moe::Schedule planned(std::string_view name, const Situation& situation,
                             const PlannerOptions& options = {}) {
  return plan_with(planner_named(name), situation, options);
}

}  // namespace tuner::test
