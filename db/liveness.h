#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

/// Which runs that say "running" do run. Only processes of this computer can be looked at: runs of
/// others count as alive.
namespace db {

/// True where the process that stored this run on this computer is still there: its id is in use,
/// by the same command line. Ids are given out again; another process has another command line.
bool still_runs(const Run& run);

/// A process that says it runs a study.
struct StudyOwner {
  std::int64_t run_id = 0;
  std::int64_t pid = 0;
  std::string hostname;
  bool is_here = false;     ///< on this computer
  double heartbeat_at = 0;  ///< by the clock of its computer

  friend bool operator==(const StudyOwner&, const StudyOwner&) = default;
};
/// The processes other than this one that say they run the study: those of this computer (`hostname`)
/// that are there, and those of others, whether they are there or not.
std::vector<StudyOwner> owners_of_study(const Connection&, const std::string& study,
                                        const std::string& hostname);
/// The process that has begun to run the study after `run_id`, as one that took it over.
std::optional<StudyOwner> later_owner_of_study(const Connection&, const std::string& study,
                                               std::int64_t run_id);

/// Marks runs as killed that say "running" and are not: runs of this computer whose process is
/// gone, and earlier runs of this study on any computer. Returns how many.
int bury_runs(Connection&, const std::string& study, const std::string& hostname);

}  // namespace db
