#pragma once

#include <map>
#include <string>
#include <vector>

#include "tuner/planners/situation/planner.h"

namespace tuner {

/// What was planned and simulated in one Situation, so that nothing is done twice: joint starts
/// from the plans of all other planners, which a comparison has too, and planners try the same.
struct PlanMemory {
  std::map<std::string, std::vector<Candidate>> plans;   ///< by planner and options
  std::map<std::string, std::vector<double>> simulated;  ///< iterations, by the decisions
};

/// The same for a planner's own choice (one candidate) and for all its candidates.
std::string memory_key(const Planner& planner, const PlannerOptions& options, bool all_candidates);

}  // namespace tuner
