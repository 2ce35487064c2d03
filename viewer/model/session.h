#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/load.h"
#include "viewer/model/time_range.h"
#include "viewer/model/timeline_loader.h"

/// The loaded and selected data, which all panels share. No drawing here.
namespace viewer {

/// Borrows the connection.
struct Session {
  const db::Connection& connection;
  Catalog catalog = {};
  std::int64_t selected_run = 0;                    ///< 0 for none
  RunData run = {};                                 ///< see run_with_loads
  std::vector<std::int64_t> stacked = {};           ///< timeline ids, topmost first
  std::map<std::int64_t, Timeline> timelines = {};  ///< the stacked ones, by id
  int stack_changes = 0;    ///< how often the stack changed, or one of its timelines: it became
                            ///< complete, or was read again because it is another now
  int catalog_changes = 0;  ///< how often the catalog was read again
  int arrivals = 0;         ///< how often ranks of a stacked timeline arrived
  /// Whether timelines that take long are loaded beside the frames: deliver() appends their ranks.
  bool in_background = false;
  std::map<std::int64_t, std::unique_ptr<TimelineLoader>> loaders = {};  ///< of those, by id
  /// Timelines that are not stacked and that stacked ones are compared with, by id.
  std::map<std::int64_t, Timeline> beside = {};
  std::vector<std::future<void>> given_up = {};  ///< each frees timelines beside the frames
  std::optional<TimeRange> first_view =
      std::nullopt;  ///< part of the first stack to show, in axis seconds
  std::vector<std::int64_t> loaded_stack = {};  ///< `stacked` when it was last loaded
  std::string problem = {};                     ///< the reason why something could not be loaded
};

/// The selection to begin with, from the command line.
struct Start {
  std::optional<std::int64_t> run = std::nullopt;
  /// The timelines to stack; empty for those that the run has by default.
  std::vector<std::int64_t> timelines = {};
  std::optional<TimeRange> view = std::nullopt;
};

/// Loads the catalog and what `start` asks for. Throws db::Error (not_found) for an id that is not
/// there. See Session for `in_background`.
Session open_session(const db::Connection& connection, const Start& start,
                     bool in_background = false);

void select_run(Session& session, std::int64_t run_id);
void select_trial(Session& session, std::int64_t trial_id);

/// Loads the timelines that `stacked` names and forgets the others.
void load_stack(Session& session);

/// Appends the ranks that have arrived of stacked timelines and of those beside them. Called once a
/// frame.
void deliver(Session& session);

/// The timeline that a stacked one is compared with (see compared_with), which is loaded from the
/// first call on. Null where there is none, and while it is still loaded.
const Timeline* load_beside(Session& session, const db::TimelineInfo& timeline);

/// The largest error of the clocks of a run's ranks; none where it is not known of one.
std::optional<double> clock_error_s(const Session& session, std::int64_t run_id);

/// Reads the catalog, the selected run and those stacked timelines that have changed again. What
/// was worked out from timelines that are the same stays (stack_changes).
void reload(Session& session);

}  // namespace viewer
