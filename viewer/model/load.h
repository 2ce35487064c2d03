#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/load_views.h"
#include "db/records.h"
#include "viewer/model/balance_table.h"
#include "viewer/model/load_table.h"
#include "viewer/model/rank_loads.h"
#include "viewer/model/timeline.h"

/// Reads the database into the viewer's plain data. No drawing here.
namespace viewer {

/// One line of the list of runs.
struct RunRow : db::RunOverview {
  int timelines = 0;
  /// How long ago it gave the last sign of life, for one that says "running"; else 0.
  double silent_s = 0;
};

/// One line of the list of trials.
struct TrialRow {
  db::Trial trial;
  std::string study;
  std::string layout;              ///< the layout of the study
  db::TrialFigures figures;        ///< its figures beside the study's sequential trial
  std::vector<std::int64_t> runs;  ///< the runs of its measured repeats
};

/// Everything that can be picked.
struct Catalog {
  std::vector<RunRow> runs;  ///< latest first
  /// The trials by study, fastest measured first, then fastest predicted.
  std::vector<TrialRow> trials;
  std::vector<db::TimelineInfo> timelines;  ///< see sort_timelines
};

/// The data of one run, apart from its timelines.
struct RunData {
  std::int64_t run_id = 0;
  std::vector<db::Iteration> iterations;
  LoadTable loads;        ///< the loads of the iterations whose loads are stored
  BalanceTable balances;  ///< the balance of all iterations
  LoadTable asked = {};   ///< as `loads`, before tokens over capacity were dropped; may be empty
  /// The other repeats of the trial that the run is a repeat of.
  std::vector<std::vector<db::Iteration>> repeats = {};
  /// Of the runs that a resumed training goes on from, up to where each was resumed.
  std::vector<db::Iteration> before = {};
  RankLoads ranks = {};  ///< what ranks had to compute, of the iterations whose loads are stored
};

Catalog load_catalog(const db::Connection& connection);
RunData load_run(const db::Connection& connection, std::int64_t run_id);

}  // namespace viewer
