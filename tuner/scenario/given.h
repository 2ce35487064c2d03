#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Decisions of a file (--given) that stand before a planner decides.
struct Given {
  std::string file;        ///< for messages
  std::string name;        ///< of the file, without folder and extension
  moe::Schedule schedule;  ///< the decisions
  moe::Program program;    ///< what they make of the whole one: planners decide for it
};

/// Throws moe::InputError where the file is not read, or not legal for `whole`.
Given load_given(const std::string& path, const moe::Program& whole);

/// All of them. Throws moe::InputError too where two have one name.
std::vector<Given> load_all_given(const std::vector<std::string>& files, const moe::Program& whole);

/// What was planned for given.program and the given decisions, as one schedule. Throws
/// moe::InputError where they contradict each other in `whole`, naming the file, what of it the
/// planner decides too, and what would do.
moe::Schedule join(const moe::Schedule& planned, const Given& given, const moe::Program& whole);

/// The planner's schedule for given.program, joined. Throws as join.
moe::Schedule plan_from(const Given& given, const Planner& planner, const PlannerOptions& options,
                        const Situation& whole);

/// What the planner of a candidate is called that is given and nothing else.
inline constexpr const char* kGivenAlone = "given";

/// A planner's candidates for given.program, joined: {"given": "bf16", "forward_chunks": 2, ...}.
/// Those of sequential, which decides nothing, are planned by nobody: kGivenAlone. What contradicts
/// the given decisions is left out, with the reason in `refused`.
struct GivenCandidates {
  std::vector<Candidate> candidates;
  std::vector<std::string> refused;
};
GivenCandidates candidates_of(const Planner& planner, const Situation& whole,
                              const PlannerOptions& options, const Given& given);

}  // namespace tuner
