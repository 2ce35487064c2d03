#include "viewer/report/study_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "db/error.h"
#include "db/load.h"
#include "db/statement.h"
#include "db/timeline/collective_ranks.h"
#include "db/timeline/read_timeline.h"
#include "viewer/model/catalog.h"

namespace viewer {

namespace {

const RunRow* run_of_study(const Catalog& catalog, const std::string& study) {
  const auto found = std::find_if(catalog.runs.begin(), catalog.runs.end(), [&](const RunRow& run) {
    return run.kind == "study" && run.name == study;
  });
  return found == catalog.runs.end() ? nullptr : &*found;
}

// The study that the selected run is, or that it repeats a trial of. Without either the newest one.
db::Study find_reported_study(const Session& session) {
  const std::vector<db::Study> studies = db::load_studies(session.connection);
  if (studies.empty()) {
    throw db::Error(db::ErrorKind::not_found,
                    fmt::format("{}: holds no study to report on, nor a search; moe-tune study and "
                                "moe-tune search --db make them",
                                session.connection.path()));
  }
  const RunRow* run = find_run(session.catalog, session.selected_run);
  for (const db::Study& study : studies) {
    if (run != nullptr && run->kind == "study" && run->name == study.name) return study;
  }
  for (const TrialRow& trial : session.catalog.trials) {
    if (std::find(trial.runs.begin(), trial.runs.end(), session.selected_run) == trial.runs.end()) {
      continue;
    }
    for (const db::Study& study : studies) {
      if (study.id == trial.trial.study_id) return study;
    }
  }
  return studies.front();
}

std::optional<Spread> spread_of(const db::Connection& connection, std::int64_t trial_id) {
  std::optional<Spread> spread;
  for (const db::TrialRepeat& repeat : db::load_trial_repeats(connection, trial_id)) {
    if (!spread) spread = Spread{repeat.measured_s, repeat.measured_s, 0};
    spread->least_s = std::min(spread->least_s, repeat.measured_s);
    spread->most_s = std::max(spread->most_s, repeat.measured_s);
    ++spread->repeats;
  }
  return spread;
}

std::vector<TrialFacts> trials_of(const Session& session, std::int64_t study_id) {
  std::vector<TrialFacts> trials;
  for (const TrialRow& row : session.catalog.trials) {
    if (row.trial.study_id != study_id) continue;
    trials.push_back({&row, spread_of(session.connection, row.trial.id)});
  }
  return trials;
}

bool is_measured(const TrialFacts& trial) {
  return trial.row->trial.status == "done" && trial.row->trial.measured_s.value_or(0) > 0;
}

void compare_trials(StudyFacts& facts) {
  for (const TrialFacts& trial : facts.trials) {
    if (is_measured(trial)) {
      facts.best = &trial;
      break;
    }
  }
  if (facts.best == nullptr) return;
  const std::string& against = facts.best->row->figures.speedup_against;
  for (const TrialFacts& trial : facts.trials) {
    const bool same = trial.row->trial.planner == against && is_measured(trial);
    if (same && &trial != facts.best) {
      facts.against = &trial;
      break;
    }
  }
}

// The stack of the best trial, and what its timelines tell.
void add_timelines(StudyFacts& facts, Session& session) {
  const TrialFacts* shown = facts.best != nullptr  ? facts.best
                            : facts.trials.empty() ? nullptr
                                                   : &facts.trials.front();
  if (shown == nullptr) return;
  session.stacked = trial_stack(session.catalog, shown->row->trial.id);
  load_stack(session);
  for (const std::int64_t id : session.stacked) {
    const auto loaded = session.timelines.find(id);
    if (loaded == session.timelines.end() || loaded->second.spans == 0) continue;
    const Timeline& timeline = loaded->second;
    facts.timelines.push_back({&timeline, timeline_title(session.catalog, timeline.info),
                               summarize(timeline, timeline.extent)});
  }
  for (const TimelineFacts& timeline : facts.timelines) {
    const db::TimelineInfo& info = timeline.timeline->info;
    const std::vector<std::int64_t>& runs = shown->row->runs;
    const bool own =
        info.trial_id == shown->row->trial.id ||
        (info.run_id && std::find(runs.begin(), runs.end(), *info.run_id) != runs.end());
    if (!own) continue;
    if (info.kind == db::kMeasured) facts.best_measured = &timeline;
    if (info.kind == db::kPredicted) facts.best_predicted = &timeline;
  }
  const TimelineFacts* measured =
      facts.best_measured != nullptr ? facts.best_measured : facts.best_predicted;
  if (measured != nullptr) {
    facts.memory = db::read_memory(session.connection, measured->timeline->info);
    facts.why = db::why(*measured->timeline,
                        db::all_ranks_together(session.connection, measured->timeline->info));
  }
}

void add_provenance(StudyFacts& facts, const Session& session) {
  const RunRow* row = run_of_study(session.catalog, facts.study.name);
  if (row == nullptr) return;
  const db::Run run = db::load_run(session.connection, row->id);
  facts.machine = db::load_machine(session.connection, run.machine_id);
  facts.device = run.device;
  facts.network = run.network;
  facts.revision = run.revision;
}

}  // namespace

StudyFacts gather_study(Session& session) {
  StudyFacts facts;
  facts.study = find_reported_study(session);
  if (const RunRow* run = run_of_study(session.catalog, facts.study.name)) {
    select_run(session, run->id);
  }
  add_provenance(facts, session);
  facts.trials = trials_of(session, facts.study.id);
  compare_trials(facts);
  const auto qualities =
      db::select<db::PredictionQuality>(session.connection, "WHERE study_id = ?", facts.study.id);
  if (!qualities.empty()) facts.quality = qualities.front();
  add_timelines(facts, session);
  facts.loads_run = session.run.run_id;
  facts.balances = session.run.balances;
  facts.loads = session.run.loads;
  facts.ranks = session.run.ranks;
  return facts;
}

}  // namespace viewer
