#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The decisions of a --given file. They are fixed before a planner decides.
struct Given {
  std::string file;        ///< the name of the file, for messages
  std::string name;        ///< the file's name without folder and extension
  moe::Schedule schedule;  ///< the decisions
  moe::Program program;    ///< the whole Program with these decisions: planners decide for it
};

/// Throws moe::InputError where the file cannot be read or is not legal for `whole`.
Given load_given(const std::string& path, const moe::Program& whole);

/// Loads all files. Throws moe::InputError also where two files have one name.
std::vector<Given> load_all_given(const std::vector<std::string>& files, const moe::Program& whole);

/// The plan for given.program and the given decisions as one schedule. Throws moe::Refusal where
/// they contradict each other in `whole`: it names the file, the decision that the planner makes
/// too, and the way out.
moe::Schedule join(const moe::Schedule& planned, const Given& given, const moe::Program& whole);

/// The planner's schedule for given.program, joined with the decisions. Throws as join.
moe::Schedule plan_from(const Given& given, const Planner& planner, const PlannerOptions& options,
                        const Situation& whole);

/// The planner name of a candidate that has the given decisions alone.
inline constexpr const char* kGivenAlone = "given";

/// A planner's candidates for given.program, joined: {"given": "bf16", "forward_chunks": 2, ...}.
/// Candidates of sequential, which decides nothing, are named kGivenAlone. Those that contradict
/// the given decisions are left out, with the reason in `refused`.
struct GivenCandidates {
  std::vector<Candidate> candidates;
  std::vector<std::string> refused;
};
GivenCandidates candidates_of(const Planner& planner, const Situation& whole,
                              const PlannerOptions& options, const Given& given);
/// The planner's candidates, and then those with each of the given decisions. What is refused of
/// either is left out, with the reason in `refused`.
GivenCandidates candidates_of(const Planner& planner, const Situation& whole,
                              const PlannerOptions& options, const std::vector<Given>& given);

}  // namespace tuner
