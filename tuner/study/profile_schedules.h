#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/given.h"

namespace tuner {

/// A schedule that a study trains for a few steps to measure costs. `what` describes it.
struct ProfileSchedule {
  std::string what;
  moe::Schedule schedule;
  /// The same with less memory, by leaner(). They are tried one after the other where the schedule
  /// does not fit.
  std::vector<ProfileSchedule> instead{};
};

/// The schedules that every study profiles. The sequential one measures whole ops alone. Chunks on
/// one stream measure small ops alone, so that alpha can be told from beta. Chunks that overlap
/// measure how much computation and communication slow each other down. The smallest chunks are
/// those of planners that may make `most_chunks`, from 4 to 16 a layer.
std::vector<ProfileSchedule> profile_schedules(const moe::Program& program, int most_chunks = 4);

/// The schedules that measure copies to the host's memory and back. All rows that backward needs
/// are offloaded, in chunks: once with everything on one stream, so that copies run alone, and once
/// with copies of the same sizes beside all other work. Larger copies are slower for each byte
/// where they leave a cache, which would pass for interference. Schedules that are not legal for
/// the Program are left out.
std::vector<ProfileSchedule> copy_profile_schedules(const moe::Program& program);

/// The schedule that measures ops of parts of the batch: every MoE layer, and all that can be cut
/// between it and the one before (or after, where its gate needs the whole batch), in two parts
/// with exchanges on a stream of their own. Dense ops run in half their size. Exchanges of counts
/// wait for rows that a network card was given before. Empty where no layer can be cut.
std::optional<ProfileSchedule> parts_profile_schedule(const moe::Program& program);

/// All schedules that a study profiles: those above, parts of the batch only where a planner cuts
/// it and copies only where one offloads, and the given schedules, which may have ops of their own.
std::vector<ProfileSchedule> schedules_to_profile(const moe::Program& program,
                                                  const std::vector<Given>& given,
                                                  const std::vector<PlannerRequest>& planners,
                                                  int most_chunks = 4);

/// A profile schedule with buffers that chunks share, by each legal strategy of MPMoE that it does
/// not have yet. Those that recompute activations are first, as they need no copies. Then the same
/// in twice as many chunks.
std::vector<ProfileSchedule> leaner(const moe::Program& program, const ProfileSchedule& one);

/// The schedules whose planned peak is within `limit_bytes` (0 = no limit) under `routing`. No
/// decisions come twice. One that does not fit is replaced by the first leaner one that does, or
/// left out; `say` says so. Throws moe::OutOfMemory with the least peak where nothing fits.
std::vector<ProfileSchedule> those_that_fit(const moe::Program& program, const moe::Groups& groups,
                                            const moe::Routing& routing, std::int64_t limit_bytes,
                                            std::vector<ProfileSchedule> schedules,
                                            const std::function<void(const std::string&)>& say);

}  // namespace tuner
