#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"

namespace db {

/// The fastest finished trial of a study.
struct BestTrial {
  std::string study, model, planner, parameters, tied_with, speedup_against, hosts, network;
  std::int64_t trial = 0;
  std::int64_t finished_trials = 0;  ///< of the study
  /// The study has ended, with more repeats than one of each: tied_with tells.
  bool is_judged = false;
  int ranks = 1;
  double measured_s = 0;
  std::optional<double> speedup, least_speedup, most_speedup, min_repeat_s, max_repeat_s;
  int repeats = 0;
  std::vector<std::string> commands;  ///< that train with its schedule
};

/// Of one study, or ("") of each that has a finished trial, newest first. `path`: what the commands
/// call the database. Throws Error (not_found) where there is no such study, or none of its trials
/// is finished.
std::vector<BestTrial> best_trials(const Connection&, const std::string& study,
                                   const std::string& path);

/// How sure it is that this trial is the fastest: what its repeats tell.
std::string how_sure(const BestTrial&);

/// A word of a shell's command line.
std::string shell_word(const std::string& word);

}  // namespace db
