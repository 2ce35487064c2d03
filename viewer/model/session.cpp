#include "viewer/model/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "db/error.h"
#include "viewer/model/catalog.h"

namespace viewer {

namespace {

RunData load_shown(const Session& session) {
  return load_run(session.connection, run_with_loads(session.catalog, session.selected_run));
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

void select_run(Session& session, std::int64_t run_id) {
  session.problem.clear();
  session.selected_run = run_id;
  session.stacked = default_stack(session.catalog, run_id);
  guarded(session, [&] { session.run = load_shown(session); });
  load_stack(session);
}

void select_trial(Session& session, std::int64_t trial_id) {
  const TrialRow* trial = find_trial(session.catalog, trial_id);
  if (trial != nullptr && !trial->runs.empty()) select_run(session, trial->runs.back());
  session.stacked = trial_stack(session.catalog, trial_id);
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
