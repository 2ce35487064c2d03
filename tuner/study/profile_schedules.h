#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/given.h"

namespace tuner {

/// A schedule that a study trains for a few steps to measure costs, and what it measures.
struct ProfileSchedule {
  std::string what;
  moe::Schedule schedule;
};

/// The schedules that every study profiles. Sequential: whole ops alone. Chunks on one stream:
/// small ops alone, so that alpha can be told from beta. Chunks that overlap: how much computation
/// and communication slow each other down.
std::vector<ProfileSchedule> profile_schedules(const moe::Program& program);

/// The schedules that measure copies to the host's memory and back. All rows that backward needs
/// are offloaded, in chunks: once with everything on one stream, so that copies run alone, and once
/// with copies beside all other work. Schedules that are not legal for the Program are left out.
std::vector<ProfileSchedule> copy_profile_schedules(const moe::Program& program);

/// All schedules that a study profiles: those above, with copies only where one of the planners
/// offloads, and the given schedules, which may have ops that the others do not have.
std::vector<ProfileSchedule> schedules_to_profile(const moe::Program& program,
                                                  const std::vector<Given>& given,
                                                  const std::vector<PlannerRequest>& planners);

}  // namespace tuner
