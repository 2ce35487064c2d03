#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "db/connection.h"
#include "db/records.h"

/// Which runs that say "running" do run. Only processes of this computer can be looked at: runs of
/// others count as alive.
namespace db {

/// True where the process that stored this run on this computer is still there: its id is in use,
/// by the same command line. Ids are given out again; another process has another command line.
bool still_runs(const Run& run);

/// A process of this computer (`hostname`) other than this one that runs the study now.
std::optional<std::int64_t> process_of_study(const Connection&, const std::string& study,
                                             const std::string& hostname);

/// Marks runs as killed that say "running" and are not: runs of this computer whose process is
/// gone, and earlier runs of this study on any computer. Returns how many.
int bury_runs(Connection&, const std::string& study, const std::string& hostname);

}  // namespace db
