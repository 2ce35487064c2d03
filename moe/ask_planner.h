#pragma once

#include <string>

#include "moe/passes/schedule.h"

namespace moe {

/// What moe-tune needs to know to plan; strings as on its command line.
struct PlanRequest {
  std::string planner;   ///< "pipemoe", "tutel:4"
  std::string model;     ///< name or file
  std::string cluster;   ///< name, file, or "measured"
  std::string database;  ///< for "measured"
  int ranks = 1;
  int expert_ranks = 0;  ///< 0 = all
};

/// Asks moe-tune, which lies beside this program, for a schedule: planners are the tuner's, and the
/// trainer knows only schedules. Deterministic, so every rank may ask. Throws InputError where
/// moe-tune is missing or refuses.
Schedule ask_planner(const PlanRequest& request);

}  // namespace moe
