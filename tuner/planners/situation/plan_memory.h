#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
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
std::string memory_key(std::string_view planner, const PlannerOptions& options,
                       bool all_candidates);

/// What `plan` makes, unless the situation remembers it under `key`.
std::vector<Candidate> remembered(const Situation& situation, const std::string& key,
                                  const std::function<std::vector<Candidate>()>& plan);
/// The same for one schedule.
moe::Schedule remembered_schedule(const Situation& situation, const std::string& key,
                                  const std::function<moe::Schedule()>& plan);

}  // namespace tuner
