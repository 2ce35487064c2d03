#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

namespace tuner {

/// What a study writes about itself beside its trials.

/// Replaces the profile runs, cost model and cluster of a study.
void update_study(db::Connection& connection, const db::Study& study);

/// Ties the measured timelines of a run to a trial.
void link_timelines(db::Connection& connection, std::int64_t run_id, std::int64_t trial_id);

/// A process of this computer that runs the study now, other than this one.
std::optional<std::int64_t> process_running(const db::Connection& connection,
                                            const std::string& study, const std::string& hostname);

/// Marks as killed what says "running" and is not: earlier runs of this study, and runs by
/// processes of this computer that are gone.
void bury_runs(db::Connection& connection, const std::string& study, const std::string& hostname);

}  // namespace tuner
