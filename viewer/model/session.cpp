#include "viewer/model/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "db/error.h"
#include "db/load.h"
#include "viewer/model/catalog.h"

namespace viewer {

namespace {

RunData load_shown(const Session& session) {
  const std::int64_t run_id = run_with_loads(session.catalog, session.selected_run);
  RunData run = viewer::load_run(session.connection, run_id);
  for (const TrialRow& trial : session.catalog.trials) {
    if (std::find(trial.runs.begin(), trial.runs.end(), run_id) == trial.runs.end()) continue;
    for (const std::int64_t repeat : trial.runs) {
      if (repeat == run_id) continue;
      run.repeats.push_back(db::load_iterations(session.connection, repeat));
    }
  }
  return run;
}

// Runs `load`. If the database fails, keeps its message and what was loaded before.
template <typename Load>
void guarded(Session& session, const Load& load) {
  try {
    load();
  } catch (const db::Error& error) {
    session.problem = error.what();
  }
}

const db::Timeline* find_timeline(const Catalog& catalog, std::int64_t id) {
  const auto found = std::find_if(catalog.timelines.begin(), catalog.timelines.end(),
                                  [&](const db::Timeline& timeline) { return timeline.id == id; });
  return found == catalog.timelines.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(const Session& session, const char* what, std::int64_t id) {
  throw db::Error(db::ErrorKind::not_found,
                  fmt::format("{}: there is no {} {}", session.connection.path(), what, id));
}

}  // namespace

void load_stack(Session& session) {
  session.beside.clear();
  guarded(session, [&] {
    std::map<std::int64_t, Timeline> kept;
    for (const std::int64_t id : session.stacked) {
      const auto loaded = session.timelines.find(id);
      const db::Timeline* info = find_timeline(session.catalog, id);
      if (loaded != session.timelines.end()) {
        kept.insert(std::move(*loaded));
      } else if (info != nullptr) {
        kept.emplace(id, load_timeline(session.connection, *info));
      }
    }
    session.timelines = std::move(kept);
  });
  ++session.stack_changes;
}

const Timeline* load_beside(Session& session, const db::Timeline& timeline) {
  const db::Timeline* info = compared_with(session.catalog, timeline);
  if (info == nullptr) return nullptr;
  const auto stacked = session.timelines.find(info->id);
  if (stacked != session.timelines.end()) return &stacked->second;
  if (!session.beside.contains(info->id)) {
    guarded(session,
            [&] { session.beside.emplace(info->id, load_timeline(session.connection, *info)); });
  }
  const auto loaded = session.beside.find(info->id);
  return loaded == session.beside.end() ? nullptr : &loaded->second;
}

double clock_error_s(const Session& session, std::int64_t run_id) {
  double largest_s = 0;
  for (const db::RunRank& rank : db::load_run_ranks(session.connection, run_id)) {
    largest_s = std::max(largest_s, rank.clock_error_s);
  }
  return largest_s;
}

void select_run(Session& session, std::int64_t run_id) {
  session.problem.clear();
  session.selected_run = run_id;
  session.stacked = default_stack(session.catalog, run_id);
  guarded(session, [&] { session.run = load_shown(session); });
  load_stack(session);
}

void select_trial(Session& session, std::int64_t trial_id) {
  const TrialRow* trial = find_trial(session.catalog, trial_id);
  const std::vector<std::int64_t> stack = trial_stack(session.catalog, trial_id);
  if (trial != nullptr && !trial->runs.empty()) {
    // The repeat whose timeline is shown, so that losses and loads are those of the same run.
    std::int64_t run = trial->runs.back();
    for (const std::int64_t id : stack) {
      const db::Timeline* timeline = find_timeline(session.catalog, id);
      const bool own =
          timeline != nullptr && timeline->run_id &&
          std::find(trial->runs.begin(), trial->runs.end(), *timeline->run_id) != trial->runs.end();
      if (own) run = *timeline->run_id;
    }
    select_run(session, run);
  }
  session.stacked = stack;
  load_stack(session);
}

void reload(Session& session) {
  session.problem.clear();
  guarded(session, [&] {
    session.catalog = load_catalog(session.connection);
    session.timelines.clear();
    if (session.selected_run != 0) session.run = load_shown(session);
  });
  const std::optional<std::int64_t> first = first_run(session.catalog);
  if (session.selected_run == 0 && first) {
    select_run(session, *first);
  } else {
    load_stack(session);
  }
}

Session open_session(const db::Connection& connection, const Start& start) {
  Session session{connection};
  session.catalog = load_catalog(connection);
  session.first_view = start.view;
  if (start.run && find_run(session.catalog, *start.run) == nullptr) {
    refuse(session, "run", *start.run);
  }
  for (const std::int64_t id : start.timelines) {
    if (find_timeline(session.catalog, id) == nullptr) refuse(session, "timeline", id);
  }
  const std::optional<std::int64_t> run = start.run ? start.run : first_run(session.catalog);
  if (run) select_run(session, *run);
  if (!start.timelines.empty()) {
    session.stacked = start.timelines;
    load_stack(session);
  }
  return session;
}

}  // namespace viewer
