#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/records.h"
#include "db/timeline/why.h"
#include "viewer/model/balance_table.h"
#include "viewer/model/load_table.h"
#include "viewer/model/rank_loads.h"
#include "viewer/model/session.h"

/// The figures of one study that a report speaks of, gathered from the database. No words here.
namespace viewer {

/// The shortest and the longest of the repeats of a trial.
struct Spread {
  double least_s = 0;
  double most_s = 0;
  int repeats = 0;
};

struct TrialFacts {
  const TrialRow* row = nullptr;  ///< in the catalog of the session
  std::optional<Spread> spread;   ///< none where nothing was measured
};

/// One timeline of the report, with the time of each rank.
struct TimelineFacts {
  const Timeline* timeline = nullptr;  ///< of the session
  std::string title;
  Summary summary;
};

struct StudyFacts {
  db::Study study;
  db::Machine machine;  ///< where it was made; without a name where no run of the study is stored
  std::string device, network, revision;
  std::vector<TrialFacts> trials;       ///< as the catalog sorts them: the fastest measured first
  const TrialFacts* best = nullptr;     ///< the fastest that was measured
  const TrialFacts* against = nullptr;  ///< what its speed-up is against; null where it is itself
  std::optional<db::PredictionQuality> quality;  ///< none until the study has ended
  std::vector<TimelineFacts> timelines;          ///< those that the report draws
  const TimelineFacts* best_measured = nullptr;
  const TimelineFacts* best_predicted = nullptr;
  db::Why why;                 ///< of best_measured, else of best_predicted
  MemoryTable memory;          ///< of the same timeline
  std::int64_t loads_run = 0;  ///< the run whose losses and loads are shown
  BalanceTable balances;
  LoadTable loads;  ///< the tokens of single experts; empty where they are not stored
  RankLoads ranks;  ///< where experts were
};

/// The study of the selected run: the run is the study's own, or a repeat of one of its trials.
/// Stacks the timelines to draw in the session. Throws db::Error (not_found) where the database
/// holds no study, or where the run is of none.
StudyFacts gather_study(Session& session);

}  // namespace viewer
