#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/given.h"

namespace tuner {

/// A schedule that a study runs for a few steps to measure costs, and what it shows.
struct ProfileSchedule {
  std::string what;
  moe::Schedule schedule;
};

/// sequential: whole ops alone; cut on one stream: small ops alone, so that alpha can be told from
/// beta; overlapped: how much computation and communication slow each other down.
std::vector<ProfileSchedule> profile_schedules(const moe::Program& program);

/// What shows the costs of copies to the host's memory and back: chunks with all that backward needs offloaded, copies
/// alone on the one stream there is, and beside all else. Those that are not legal for the Program are left out.
std::vector<ProfileSchedule> copy_profile_schedules(const moe::Program& program);

/// All that a study profiles: both kinds, copies where one of the planners offloads, and what is given, which may have
/// ops that the others have not.
std::vector<ProfileSchedule> schedules_to_profile(const moe::Program& program,
                                                  const std::vector<Given>& given,
                                                  const std::vector<PlannerRequest>& planners);

}  // namespace tuner
