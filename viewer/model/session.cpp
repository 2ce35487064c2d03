#include "viewer/model/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "db/error.h"
#include "db/load.h"
#include "db/timeline/read_timeline.h"
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

const db::TimelineInfo* find_timeline(const Catalog& catalog, std::int64_t id) {
  const auto found =
      std::find_if(catalog.timelines.begin(), catalog.timelines.end(),
                   [&](const db::TimelineInfo& timeline) { return timeline.id == id; });
  return found == catalog.timelines.end() ? nullptr : &*found;
}

using Clock = std::chrono::steady_clock;

// What is loaded in this time is there with the first frame, which is to take less than 50 ms.
constexpr double kAtOnce_s = 0.03;

Clock::time_point at_once() {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kAtOnce_s));
}

// Takes out the timelines that `which` is true of. Freeing the memory of a large one takes longer
// than a frame: where the session loads beside the frames, it frees beside them, too.
template <typename Which>
std::size_t give_up(Session& session, std::map<std::int64_t, Timeline>& from, const Which& which) {
  std::vector<Timeline> taken;
  for (auto of = from.begin(); of != from.end();) {
    const bool goes = which(*of);
    if (goes) taken.push_back(std::move(of->second));
    of = goes ? from.erase(of) : std::next(of);
  }
  const std::size_t count = taken.size();
  if (session.in_background && count > 0) {
    std::erase_if(session.given_up, [](const std::future<void>& freed) {
      return freed.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    const auto old = std::make_shared<std::vector<Timeline>>(std::move(taken));
    try {
      session.given_up.push_back(std::async(std::launch::async, [old] { old->clear(); }));
    } catch (const std::system_error&) {  // there may be no more threads: then it is freed here
    }
  }
  return count;
}

// Begins to load a timeline beside the frames; one that is small is complete at once.
void load_in_background(Session& session, const db::TimelineInfo& info,
                        std::map<std::int64_t, Timeline>& into, Clock::time_point at_once_until) {
  session.loaders.erase(info.id);  // of a timeline that was beside the stack and is stacked now
  auto loader = std::make_unique<TimelineLoader>(session.connection, info);
  Timeline& timeline = into.insert_or_assign(info.id, loader->begun()).first->second;
  loader->deliver(timeline);
  while (!timeline.complete && Clock::now() < at_once_until) {
    loader->wait(std::chrono::duration<double>(at_once_until - Clock::now()).count());
    loader->deliver(timeline);
  }
  if (!timeline.complete) session.loaders.insert_or_assign(info.id, std::move(loader));
}

bool is_stacked(const Session& session, std::int64_t id) {
  return std::find(session.stacked.begin(), session.stacked.end(), id) != session.stacked.end();
}

// Whether a stacked timeline is compared with it while it is not stacked itself.
bool is_beside(const Session& session, std::int64_t id) {
  if (is_stacked(session, id)) return false;
  const auto compared = [&](std::int64_t stacked) {
    const db::TimelineInfo* info = find_timeline(session.catalog, stacked);
    const db::TimelineInfo* other = info ? compared_with(session.catalog, *info) : nullptr;
    return other != nullptr && other->id == id;
  };
  return std::any_of(session.stacked.begin(), session.stacked.end(), compared);
}

// What a loader appends to: a stacked timeline, or one beside them.
Timeline& being_loaded(Session& session, std::int64_t id) {
  const auto stacked = session.timelines.find(id);
  return stacked != session.timelines.end() ? stacked->second : session.beside.at(id);
}

bool is_same(const db::TimelineInfo& a, const db::TimelineInfo& b) {
  return a.id == b.id && a.kind == b.kind && a.label == b.label && a.run_id == b.run_id &&
         a.trial_id == b.trial_id && a.iteration == b.iteration && a.duration_s == b.duration_s;
}

[[noreturn]] void refuse(const Session& session, const char* what, std::int64_t id) {
  throw db::Error(db::ErrorKind::not_found,
                  fmt::format("{}: there is no {} {}", session.connection.path(), what, id));
}

void load_stack_until(Session& session, Clock::time_point at_once_until) {
  bool changed = session.loaded_stack != session.stacked;
  session.loaded_stack = session.stacked;
  // A loader goes with its timeline: one that left the stack is given up, also where it is compared
  // with a stacked one now.
  std::erase_if(session.loaders, [&](const auto& of) {
    const bool stays_beside = session.beside.contains(of.first) && is_beside(session, of.first);
    return !is_stacked(session, of.first) && !stays_beside;
  });
  give_up(session, session.timelines,
          [&](const auto& of) { return !is_stacked(session, of.first); });
  give_up(session, session.beside, [&](const auto& of) { return !is_beside(session, of.first); });
  guarded(session, [&] {
    for (const std::int64_t id : session.stacked) {
      const db::TimelineInfo* info = find_timeline(session.catalog, id);
      if (session.timelines.contains(id) || info == nullptr) continue;
      changed = true;
      if (session.in_background) {
        load_in_background(session, *info, session.timelines, at_once_until);
      } else {
        session.timelines.emplace(id, read_timeline(session.connection, *info));
      }
    }
  });
  if (changed) ++session.stack_changes;
}

}  // namespace

void load_stack(Session& session) { load_stack_until(session, at_once()); }

void deliver(Session& session) {
  for (auto loader = session.loaders.begin(); loader != session.loaders.end();) {
    const bool stacked = session.timelines.contains(loader->first);
    Timeline& timeline = being_loaded(session, loader->first);
    bool failed = true;
    guarded(session, [&] {
      if (loader->second->deliver(timeline) && stacked) ++session.arrivals;
      failed = false;
    });
    if (timeline.complete && stacked) ++session.stack_changes;
    loader = timeline.complete || failed ? session.loaders.erase(loader) : std::next(loader);
  }
}

const Timeline* load_beside(Session& session, const db::TimelineInfo& timeline) {
  const db::TimelineInfo* info = compared_with(session.catalog, timeline);
  if (info == nullptr) return nullptr;
  const auto stacked = session.timelines.find(info->id);
  if (stacked != session.timelines.end()) {
    return stacked->second.complete ? &stacked->second : nullptr;
  }
  if (!session.beside.contains(info->id)) {
    guarded(session, [&] {
      if (session.in_background) {
        load_in_background(session, *info, session.beside, at_once());
      } else {
        session.beside.emplace(info->id, read_timeline(session.connection, *info));
      }
    });
  }
  const auto loaded = session.beside.find(info->id);
  return loaded != session.beside.end() && loaded->second.complete ? &loaded->second : nullptr;
}

std::optional<double> clock_error_s(const Session& session, std::int64_t run_id) {
  double largest_s = 0;
  const std::vector<db::RunRank> ranks = db::load_run_ranks(session.connection, run_id);
  if (ranks.empty()) return std::nullopt;
  for (const db::RunRank& rank : ranks) {
    if (!rank.clock_error_s) return std::nullopt;
    largest_s = std::max(largest_s, *rank.clock_error_s);
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
      const db::TimelineInfo* timeline = find_timeline(session.catalog, id);
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
  const Clock::time_point at_once_until = at_once();  // giving up large timelines takes long, too
  session.problem.clear();
  guarded(session, [&] {
    session.catalog = load_catalog(session.connection);
    ++session.catalog_changes;
    const auto changed = [&](std::int64_t id, const db::TimelineInfo& loaded) {
      const db::TimelineInfo* now = find_timeline(session.catalog, id);
      return now == nullptr || !is_same(*now, loaded);
    };
    std::erase_if(session.loaders, [&](const auto& of) {
      return changed(of.first, being_loaded(session, of.first).info);
    });
    const std::size_t others =
        give_up(session, session.timelines,
                [&](const auto& of) { return changed(of.first, of.second.info); }) +
        give_up(session, session.beside,
                [&](const auto& of) { return changed(of.first, of.second.info); });
    if (others > 0) ++session.stack_changes;
    if (session.selected_run != 0) session.run = load_shown(session);
  });
  const std::optional<std::int64_t> first = first_run(session.catalog);
  if (session.selected_run == 0 && first) {
    select_run(session, *first);
  } else {
    load_stack_until(session, at_once_until);
  }
}

Session open_session(const db::Connection& connection, const Start& start, bool in_background) {
  Session session{connection};
  session.in_background = in_background;
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
