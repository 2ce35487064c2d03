#include "db/store.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "db/check.h"
#include "db/insert_sql.h"
#include "db/programs.h"
#include "db/statement.h"
#include "db/study_runs.h"
#include "db/timeline/activity_rows.h"
#include "db/transaction.h"

namespace db {
namespace {

/// "column = TEXT, ..." of every column but those in `except`; TEXT is made from column and number.
template <class Record, class Text>
std::string assignments(std::initializer_list<std::string_view> except, Text text) {
  std::string list;
  int number = 0;
  const auto add = [&](const char* column) {
    ++number;
    if (std::find(except.begin(), except.end(), column) != except.end()) return;
    list += fmt::format("{}{} = {}", list.empty() ? "" : ", ", column, text(column, number));
  };
  std::apply([&](const auto&... column) { (add(column.name), ...); }, Table<Record>::columns);
  return list;
}

/// The end of an INSERT that replaces every column but these in a row that is there already.
template <class Record>
std::string or_replace(std::initializer_list<std::string_view> keys) {
  return "ON CONFLICT DO UPDATE SET " + assignments<Record>(keys, [](const char* column, int) {
           return fmt::format("excluded.{}", column);
         });
}

template <class Record>
std::int64_t insert_one(Connection& connection, const Record& record) {
  Statement statement(connection, insert_sql<Record>());
  statement.bind_record(record).run();
  return sqlite3_last_insert_rowid(connection.handle());
}

template <class Record>
void insert_all(Connection& connection, std::span<const Record> records,
                const std::string& tail = "") {
  if (records.empty()) return;
  Transaction transaction(connection,
                          fmt::format("store {} rows of {}", records.size(), Table<Record>::name));
  Statement statement(connection, insert_sql<Record>(tail));
  for (const Record& record : records) statement.bind_record(record).run();
  transaction.commit();
}

// Runs one UPDATE in its own transaction; returns the rows it changed.
template <class... Values>
int update(Connection& connection, const std::string& doing, const char* sql,
           const Values&... values) {
  Transaction transaction(connection, doing);
  Statement(connection, sql).bind(values...).run();
  const int changed = sqlite3_changes(connection.handle());
  transaction.commit();
  return changed;
}

void require_row(const Connection& connection, int changed, const char* table, std::int64_t id) {
  if (changed == 0) {
    throw Error(ErrorKind::invalid, fmt::format("{}: no {} {}", connection.path(), table, id));
  }
}

template <class... Values>
std::int64_t find_id(Connection& connection, const char* sql, const Values&... values) {
  Statement statement(connection, sql);
  statement.bind(values...);
  return statement.step() ? statement.value<std::int64_t>(0) : 0;
}

void check_spans(const Connection& connection, std::span<const TimelineOp> ops,
                 std::span<const Span> spans) {
  std::unordered_set<int> known;
  for (const TimelineOp& op : ops) known.insert(op.op);
  for (const Span& span : spans) {
    if (!known.contains(span.op)) {
      throw Error(ErrorKind::invalid,
                  fmt::format("{}: span of op {} on rank {}, but the timeline has {} ops, none of "
                              "that number",
                              connection.path(), span.op, span.rank, ops.size()));
    }
  }
}

/// Memory of known tensors, used by ops with a span on the rank: from them the times are known.
void check_allocations(const Connection& connection, std::span<const Span> spans,
                       const TimelineMemory& memory) {
  if (memory.allocations.empty()) return;
  std::unordered_set<int> tensors;
  for (const TimelineTensor& tensor : memory.tensors) tensors.insert(tensor.tensor);
  const auto place = [](int rank, int op) { return std::int64_t{rank} << 32 | op; };
  std::unordered_set<std::int64_t> known;
  for (const Span& span : spans) known.insert(place(span.rank, span.op));
  for (const Allocation& of : memory.allocations) {
    if (!tensors.contains(of.tensor)) {
      throw Error(ErrorKind::invalid,
                  fmt::format("{}: memory for tensor {} on rank {}, but the timeline has {} "
                              "tensors, none of that number",
                              connection.path(), of.tensor, of.rank, memory.tensors.size()));
    }
    for (const std::optional<int>& op : {of.first_op, of.last_op}) {
      if (!op || known.contains(place(of.rank, *op))) continue;
      throw Error(ErrorKind::invalid,
                  fmt::format("{}: tensor {} on rank {} is used by op {}, which has no span there",
                              connection.path(), of.tensor, of.rank, *op));
    }
  }
}

template <class Record>
void insert_of_timeline(Connection& connection, std::int64_t timeline_id,
                        std::span<const Record> records) {
  Statement statement(connection, insert_sql<Record>());
  for (Record record : records) {
    record.timeline_id = timeline_id;
    statement.bind_record(record).run();
  }
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string content_hash(const std::string& text) {
  __extension__ using uint128 = unsigned __int128;  // FNV-1a
  const uint128 prime = (uint128{1} << 88) + 0x13b;
  uint128 hash = (uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const unsigned char c : text) hash = (hash ^ c) * prime;
  return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(hash >> 64),
                     static_cast<std::uint64_t>(hash));
}

std::string decisions_hash(const std::string& json) {
  auto decisions = nlohmann::json::parse(json, nullptr, false);
  if (!decisions.is_object()) {
    throw Error(ErrorKind::invalid, "a schedule's JSON must be an object: " + json.substr(0, 100));
  }
  decisions.erase("planner");
  return content_hash(decisions.dump());
}

std::int64_t find_or_insert(Connection& connection, const Machine& machine) {
  Transaction transaction(connection, "store the machine");
  std::int64_t id =
      find_id(connection, "SELECT id FROM machine WHERE fingerprint = ?", machine.fingerprint);
  if (id == 0) id = insert_one(connection, machine);
  transaction.commit();
  return id;
}

std::int64_t find_or_insert(Connection& connection, Schedule schedule) {
  schedule.hash = decisions_hash(schedule.json);
  Transaction transaction(connection, "store a schedule");
  std::int64_t id = find_id(connection, "SELECT id FROM schedule WHERE hash = ?", schedule.hash);
  if (id == 0) id = insert_one(connection, schedule);
  transaction.commit();
  return id;
}

std::int64_t insert(Connection& connection, Run run) {
  if (run.started_at == 0) run.started_at = now();
  if (run.heartbeat_at == 0) run.heartbeat_at = run.started_at;
  if (run.status.empty()) run.status = kRunning;
  Transaction transaction(connection, "store a run");
  const std::int64_t id = insert_one(connection, run);
  transaction.commit();
  return id;
}

std::int64_t begin_run(Connection& connection, Run run, const Machine& machine,
                       const std::optional<Schedule>& schedule) {
  Transaction transaction(connection, "begin a run");
  run.machine_id = find_or_insert(connection, machine);
  if (schedule) {
    run.schedule_id = find_or_insert(connection, *schedule);
    run.planner = schedule->planner;
  }
  const std::int64_t id = insert(connection, std::move(run));
  transaction.commit();
  return id;
}

void heartbeat_run(Connection& connection, std::int64_t run_id) {
  require_row(connection,
              update(connection, "store a heartbeat",
                     "UPDATE run SET heartbeat_at = ? WHERE id = ?", now(), run_id),
              "run", run_id);
}

void finish_run(Connection& connection, std::int64_t run_id, const std::string& status,
                const std::string& error) {
  if (status == "done") require_sound(connection);
  const int changed = update(connection, "finish a run",
                             "UPDATE run SET status = ?1, error = ?2, "
                             "finished_at = max(?3, started_at), heartbeat_at = ?3 WHERE id = ?4",
                             status, error, now(), run_id);
  require_row(connection, changed, "run", run_id);
}

void store_balanced_share(Connection& connection, std::int64_t run_id, double share) {
  require_row(connection,
              update(connection, "store the share of a balanced step",
                     "UPDATE run SET balanced_share = ? WHERE id = ?", share, run_id),
              "run", run_id);
}

void mark_run_killed(Connection& connection, std::int64_t run_id) {
  update(connection, "mark a killed run",
         "UPDATE run SET status = 'killed', finished_at = max(heartbeat_at, started_at) "
         "WHERE status = 'running' AND id = ?",
         run_id);
}

int mark_stale_runs_killed(Connection& connection, double older_than_s) {
  const double time = now();
  return update(connection, "mark killed runs",
                "UPDATE run SET status = 'killed', heartbeat_at = min(heartbeat_at, ?1), "
                "finished_at = max(started_at, min(heartbeat_at, ?1)) "
                "WHERE status = 'running' AND (heartbeat_at < ?1 - ?2 OR heartbeat_at > ?1 + ?2)",
                time, older_than_s);
}

void insert(Connection& connection, std::span<const RunRank> ranks) {
  insert_all(connection, ranks, or_replace<RunRank>({"run_id", "rank"}));
}
void insert(Connection& connection, std::span<const Iteration> iterations) {
  insert_all(connection, iterations);
}
void insert(Connection& connection, std::span<const Load> loads) { insert_all(connection, loads); }
void insert(Connection& connection, std::span<const Balance> balances) {
  insert_all(connection, balances);
}
void insert(Connection& connection, std::span<const RankLoad> loads) {
  insert_all(connection, loads);
}
void insert(Connection& connection, std::span<const ExpertPlace> places) {
  insert_all(connection, places);
}
void insert(Connection& connection, std::span<const Measurement> measurements) {
  insert_all(connection, measurements);
}
void insert(Connection& connection, std::span<const Fit> fits) { insert_all(connection, fits); }
void insert(Connection& connection, std::span<const PredictedSetup> setups) {
  insert_all(connection, setups);
}
void insert(Connection& connection, std::span<const Figure> figures) {
  insert_all(connection, figures);
}
void insert(Connection& connection, std::span<const RankActivity> activities) {
  insert_all(connection, activities);
}
void insert(Connection& connection, std::span<const OpActivity> activities) {
  insert_all(connection, activities);
}

std::int64_t insert(Connection& connection, const TimelineInfo& timeline,
                    std::span<const TimelineOp> ops, std::span<const Span> spans,
                    std::span<const OpEdge> edges, std::span<const RankGroup> groups,
                    const TimelineMemory& memory) {
  check_spans(connection, ops, spans);
  check_allocations(connection, spans, memory);
  TimelineInfo stored = timeline;
  if (stored.duration_s == 0) {
    for (const Span& span : spans) {
      stored.duration_s = std::max(stored.duration_s, span.start_s + span.duration_s);
    }
  }
  Transaction transaction(connection, fmt::format("store a timeline of {} spans", spans.size()));
  const std::int64_t id = insert_one(connection, stored);
  store_program(connection, id, ops, edges, groups, memory.tensors);
  store_memory_plans(connection, id, memory.allocations);
  insert_of_timeline(connection, id, spans);
  const TimelineActivity activity = activity_of(ops, spans);
  insert_of_timeline(connection, id, std::span<const RankActivity>(activity.ranks));
  insert_of_timeline(connection, id, std::span<const OpActivity>(activity.ops));
  transaction.commit();
  return id;
}

void link_timelines(Connection& connection, std::int64_t run_id, std::int64_t trial_id) {
  update(connection, "link timelines to a trial",
         "UPDATE timeline SET trial_id = ? WHERE run_id = ? AND kind = 'measured'", trial_id,
         run_id);
}

std::int64_t insert(Connection& connection, Study study) {
  if (study.created_at == 0) study.created_at = now();
  Transaction transaction(connection, "store study " + study.name);
  const std::int64_t id = insert_one(connection, study);
  transaction.commit();
  return id;
}

void update_study(Connection& connection, const Study& study) {
  Transaction transaction(connection, "update study " + study.name);
  const int changed = update(connection, "update study " + study.name,
                             "UPDATE study SET profile_runs_json = ?, cost_model_json = ?, "
                             "cluster_json = ?, refinement_runs_json = ? WHERE id = ?",
                             study.profile_runs_json, study.cost_model_json, study.cluster_json,
                             study.refinement_runs_json, study.id);
  require_row(connection, changed, "study", study.id);
  if (!study.cost_model_json.empty()) {
    const auto refinements = refinement_runs(study);
    const StudyCosts costs{study.id, refinements ? static_cast<int>(refinements->size()) : 0,
                           study.cost_model_json};
    insert_all(connection, std::span(&costs, 1),
               or_replace<StudyCosts>({"study_id", "refinement"}));
  }
  transaction.commit();
}

std::int64_t find_or_insert(Connection& connection, Trial trial) {
  if (trial.status.empty()) trial.status = "planned";
  Transaction transaction(connection, "store a trial");
  std::int64_t id =
      find_id(connection, "SELECT id FROM trial WHERE study_id = ? AND schedule_id = ?",
              trial.study_id, trial.schedule_id);
  if (id == 0) {
    id = insert_one(connection, trial);
  } else {
    name_planner(connection, id, trial.planner);
  }
  transaction.commit();
  return id;
}

void replace_prediction(Connection& connection, const Trial& trial) {
  Transaction transaction(connection, "replace a prediction");
  const int changed = update(connection, "replace a prediction",
                             "UPDATE trial SET paper_s = ?2, predicted_s = ?3, lower_bound_s = ?4, "
                             "predicted_peak_bytes = ?5, predicted_deviation_s = ?6, "
                             "first_predicted_s = ?7, bounded_by = ?8 WHERE id = ?1",
                             trial.id, trial.paper_s, trial.predicted_s, trial.lower_bound_s,
                             trial.predicted_peak_bytes, trial.predicted_deviation_s,
                             trial.first_predicted_s, trial.bounded_by);
  require_row(connection, changed, "trial", trial.id);
  update(connection, "remove a predicted timeline",
         "DELETE FROM timeline WHERE trial_id = ?1 AND kind = 'predicted'", trial.id);
  transaction.commit();
}

void name_planner(Connection& connection, std::int64_t trial_id, const std::string& planner) {
  // Names stand between separators, so that none is found inside another.
  update(connection, "store who planned a trial too",
         "UPDATE trial SET also_planned_by = also_planned_by || iif(also_planned_by = '', '', ', "
         "') || ?1 "
         "WHERE id = ?2 AND planner <> ?1 AND instr(', ' || also_planned_by || ',', ', ' || ?1 || "
         "',') = 0",
         planner, trial_id);
}

bool claim_trial(Connection& connection, std::int64_t trial_id) {
  return update(connection, "begin a trial",
                "UPDATE trial SET status = 'running', started_at = ?1, heartbeat_at = ?1, "
                "failure = '', error = '' "
                "WHERE id = ?2 AND status = 'planned'",
                now(), trial_id) == 1;
}

void heartbeat_study(Connection& connection, std::int64_t run_id, std::int64_t study_id) {
  Transaction transaction(connection, "store a heartbeat");
  heartbeat_run(connection, run_id);
  update(connection, "store a heartbeat",
         "UPDATE trial SET heartbeat_at = ? WHERE study_id = ? AND status = 'running'", now(),
         study_id);
  transaction.commit();
}

void finish_trial(Connection& connection, Trial trial) {
  if (!trial.finished_at) trial.finished_at = now();
  trial.heartbeat_at = *trial.finished_at;
  trial.failure = trial.status == "done" ? "" : trial.status;
  // The identity of the trial and its begin stay as they were stored.
  const std::string set = assignments<Trial>(
      {"id", "study_id", "schedule_id", "planner", "started_at", "also_planned_by"},
      [](const char*, int number) { return fmt::format("?{}", number); });
  Transaction transaction(connection, "finish a trial");
  Statement statement(connection, fmt::format("UPDATE trial SET {} WHERE id = ?1", set));
  statement.bind_record(trial).run();
  require_row(connection, sqlite3_changes(connection.handle()), "trial", trial.id);
  transaction.commit();
}

void unclaim_trial(Connection& connection, std::int64_t trial_id, const std::string& failure,
                   const std::string& error) {
  update(connection, "leave a trial planned",
         "UPDATE trial SET status = 'planned', started_at = NULL, failure = ?2, error = ?3 "
         "WHERE id = ?1 AND status = 'running'",
         trial_id, failure, error);
}

int retry_failed_trials(Connection& connection, std::int64_t study_id) {
  return update(connection, "try failed trials again",
                "UPDATE trial SET status = 'planned', started_at = NULL, finished_at = NULL, "
                "failure = '', error = '' WHERE study_id = ?1 "
                "AND status IN ('out_of_memory', 'hung', 'crashed', 'failed')",
                study_id);
}

void set_comparison(Connection& connection, std::int64_t trial_id, double measured_s,
                    std::optional<double> least_speedup, std::optional<double> most_speedup,
                    const std::string& tied_with) {
  require_row(connection,
              update(connection, "store how a trial compares",
                     "UPDATE trial SET measured_s = ?2, least_speedup = ?3, most_speedup = ?4, "
                     "tied_with = ?5 WHERE id = ?1",
                     trial_id, measured_s, least_speedup, most_speedup, tied_with),
              "trial", trial_id);
}

void insert(Connection& connection, const PredictionQuality& quality) {
  insert_all(connection, std::span(&quality, 1), or_replace<PredictionQuality>({"study_id"}));
}

void insert(Connection& connection, const TrialRepeat& repeat) {
  insert_all(connection, std::span(&repeat, 1), or_replace<TrialRepeat>({"trial_id", "repeat"}));
}

int requeue_trials(Connection& connection, std::int64_t study_id) {
  return update(connection, "requeue trials",
                "UPDATE trial SET status = 'planned', started_at = NULL "
                "WHERE status = 'running' AND study_id = ?1",
                study_id);
}

int requeue_stale_trials(Connection& connection, std::int64_t study_id, double older_than_s) {
  return update(connection, "requeue trials",
                "UPDATE trial SET status = 'planned', started_at = NULL "
                "WHERE status = 'running' AND heartbeat_at < ?1 AND (?2 = 0 OR study_id = ?2)",
                now() - older_than_s, study_id);
}

}  // namespace db
