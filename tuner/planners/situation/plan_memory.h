#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "moe/rows/tensor.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// [pool]: the planned peak of a rank.
using PeakBytes = std::array<std::int64_t, moe::kPoolCount>;
/// [stage]: that of its fullest rank.
using StagePeaks = std::vector<PeakBytes>;

/// What was planned and simulated in one Situation, so that nothing is done twice: joint starts
/// from the plans of all other planners, which a comparison has too, and planners try the same.
struct PlanMemory {
  std::map<std::string, std::vector<Candidate>> plans;   ///< by what was planned
  std::map<std::string, std::vector<double>> simulated;  ///< iterations, by the decisions
  std::map<std::string, StagePeaks> peaks;               ///< by the decisions
};

/// The key of what a planner makes with these options; kChoice: its own choice alone.
std::string memory_key(std::string_view planner, const PlannerOptions& options,
                       std::string_view what);
inline constexpr std::string_view kChoice = "choice";

/// What `plan` makes, unless the situation remembers it under `key`.
std::vector<Candidate> remembered(const Situation& situation, const std::string& key,
                                  const std::function<std::vector<Candidate>()>& plan);

}  // namespace tuner
