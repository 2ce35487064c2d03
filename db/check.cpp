#include "db/check.h"

#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <map>
#include <utility>

#include "db/run_chain.h"
#include "db/statement.h"
#include "db/store.h"
#include "db/timeline/activity_rows.h"

namespace db {
namespace {

using Problems = std::vector<std::string>;

// A message per row of `sql`, made by `say` from the statement.
template <class Say, class... Values>
void each_row(const Connection& connection, const std::string& sql, Say say,
              const Values&... values) {
  Statement statement(connection, sql);
  statement.bind(values...);
  while (statement.step()) say(statement);
}

void check_pages(const Connection& connection, Problems& problems) {
  each_row(connection, "PRAGMA integrity_check(100)", [&](const Statement& row) {
    const auto text = row.value<std::string>(0);
    if (text != "ok") problems.push_back("damaged: " + text);
  });
  each_row(connection, "PRAGMA foreign_key_check", [&](const Statement& row) {
    problems.push_back(fmt::format(
        "{} row {} refers to a row of {} that does not exist", row.value<std::string>(0),
        row.value<std::optional<std::int64_t>>(1).value_or(0), row.value<std::string>(2)));
  });
}

void check_schema(const Connection& connection, Problems& problems) {
  const Connection wanted = open_writer(":memory:");
  constexpr const char* kColumns =
      "SELECT object.name, info.name, info.type, info.\"notnull\", info.pk "
      "FROM main.sqlite_schema AS object JOIN pragma_table_info(object.name, 'main') AS info "
      "WHERE object.type = 'table' AND object.name = coalesce(?1, object.name) "
      "AND info.name = coalesce(?2, info.name)";
  Statement columns(wanted, kColumns);
  columns.bind(std::optional<std::string>(), std::optional<std::string>());
  while (columns.step()) {
    const auto table = columns.value<std::string>(0), name = columns.value<std::string>(1);
    Statement found(connection, kColumns);
    found.bind(table, name);
    if (!found.step()) {
      problems.push_back(fmt::format("table {} has no column {}", table, name));
    } else if (found.value<std::string>(2) != columns.value<std::string>(2) ||
               found.value<int>(3) < columns.value<int>(3) ||  // NOT NULL may be more than wanted
               found.value<int>(4) != columns.value<int>(4)) {
      problems.push_back(
          fmt::format("column {} of table {} is not as this version makes it", name, table));
    }
  }
  each_row(wanted, "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL",
           [&](const Statement& row) {
             const auto name = row.value<std::string>(0);
             Statement found(connection,
                             "SELECT 1 FROM main.sqlite_schema WHERE type = 'index' AND name = ?");
             found.bind(name);
             if (!found.step()) problems.push_back("index " + name + " is missing");
           });
}

void check_unfinished(const Connection& connection, double stale_after_s, Problems& problems) {
  const double time = now();
  const auto say = [&](const char* what, const char* remedy) {
    return [&problems, what, remedy, time](const Statement& row) {
      problems.push_back(
          fmt::format("{} {} ({}) says it is running, but its last sign of life is "
                      "{:.0f} s old: {}",
                      what, row.value<std::int64_t>(0), row.value<std::string>(1),
                      time - row.value<double>(2), remedy));
    };
  };
  each_row(connection,
           "SELECT id, kind || ' ' || name, heartbeat_at FROM run "
           "WHERE status = 'running' AND heartbeat_at < ?",
           say("run", "--fix marks it killed"), time - stale_after_s);
  each_row(connection,
           "SELECT trial.id, study.name || ', ' || planner, heartbeat_at "
           "FROM trial JOIN study ON study.id = study_id "
           "WHERE status = 'running' AND heartbeat_at < ?",
           say("trial", "--fix requeues it"), time - stale_after_s);
}

/// Times that no program stores: signs of life further ahead than clocks of computers are apart, and
/// runs that end before they begin.
void check_times(const Connection& connection, double stale_after_s, Problems& problems) {
  const double time = now();
  each_row(
      connection,
      "SELECT id, kind || ' ' || name, heartbeat_at FROM run "
      "WHERE status = 'running' AND heartbeat_at > ?",
      [&](const Statement& row) {
        problems.push_back(fmt::format(
            "run {} ({}) says it is running, but its last sign of life is {:.0f} s "
            "ahead of this computer's clock: --fix marks it killed",
            row.value<std::int64_t>(0), row.value<std::string>(1), row.value<double>(2) - time));
      },
      time + stale_after_s);
  each_row(connection,
           "SELECT id, kind || ' ' || name, started_at - finished_at FROM run "
           "WHERE finished_at < started_at",
           [&](const Statement& row) {
             problems.push_back(fmt::format("run {} ({}) ends {:.3f} s before it begins",
                                            row.value<std::int64_t>(0), row.value<std::string>(1),
                                            row.value<double>(2)));
           });
}

/// Rows that a training has stored, since it stores one for every iteration, and that are not there
/// any more, or that a disk has refused.
void check_iterations(const Connection& connection, Problems& problems) {
  each_row(
      connection,
      "SELECT run_id, min(previous) + 1, iteration - 1, sum(iteration - previous - 1) FROM "
      "(SELECT run_id, iteration, lag(iteration) OVER (PARTITION BY run_id ORDER BY iteration) "
      "AS previous FROM iteration) WHERE iteration > previous + 1 GROUP BY run_id",
      [&](const Statement& row) {
        const auto first = row.value<std::int64_t>(1), last = row.value<std::int64_t>(2),
                   all = row.value<std::int64_t>(3);
        const bool has_more = all > last - first + 1;
        problems.push_back(fmt::format("run {} has no rows of {}{}", row.value<std::int64_t>(0),
                                       iterations_text(first, last),
                                       has_more ? fmt::format(", {} missing in all", all) : ""));
      });
  each_row(connection,
           "SELECT id, name FROM run WHERE kind = 'train' AND status = 'done' AND NOT EXISTS "
           "(SELECT 1 FROM iteration WHERE run_id = run.id)",
           [&](const Statement& row) {
             problems.push_back(fmt::format("run {} (train {}) is done and has no iteration",
                                            row.value<std::int64_t>(0), row.value<std::string>(1)));
           });
  each_row(connection,
           "SELECT id, resumes_run_id, min(iteration) FROM run JOIN iteration ON run_id = id "
           "WHERE resumes_run_id IS NOT NULL GROUP BY id",
           [&](const Statement& row) {
             const auto first = row.value<std::int64_t>(2);
             const auto stored = last_stored(connection, row.value<std::int64_t>(1));
             if (first <= (stored ? stored->iteration + std::int64_t{1} : 1)) return;
             if (!stored) {
               problems.push_back(
                   fmt::format("run {} goes on with iteration {} from run {}, which has no rows",
                               row.value<std::int64_t>(0), first, row.value<std::int64_t>(1)));
               return;
             }
             problems.push_back(fmt::format(
                 "run {} goes on with iteration {} from run {}, whose rows end with {}: no run has "
                 "rows of {}",
                 row.value<std::int64_t>(0), first, stored->run_id, stored->iteration,
                 iterations_text(stored->iteration + std::int64_t{1}, first - 1)));
           });
}

void check_timelines(const Connection& connection, Problems& problems) {
  if (const std::int64_t lacking = timelines_without_activity(connection); lacking > 0) {
    problems.push_back(fmt::format(
        "{} timelines do not say how their ranks spent their time: --fix works it out", lacking));
  }
  each_row(connection,
           "SELECT id, kind FROM timeline "
           "WHERE NOT EXISTS (SELECT 1 FROM span WHERE timeline_id = timeline.id) "
           "AND (EXISTS (SELECT 1 FROM timeline_op WHERE timeline_id = timeline.id) "
           "OR NOT EXISTS (SELECT 1 FROM rank_activity WHERE timeline_id = timeline.id))",
           [&](const Statement& row) {
             problems.push_back(fmt::format("timeline {} ({}) has no spans",
                                            row.value<std::int64_t>(0), row.value<std::string>(1)));
           });
  each_row(
      connection,
      "SELECT timeline_id, count(*), min(op) FROM span "
      "WHERE NOT EXISTS (SELECT 1 FROM timeline_op WHERE timeline_op.timeline_id = "
      "span.timeline_id AND timeline_op.op = span.op) GROUP BY timeline_id",
      [&](const Statement& row) {
        problems.push_back(fmt::format(
            "timeline {} has {} spans of ops it does not describe, the first is op {}",
            row.value<std::int64_t>(0), row.value<std::int64_t>(1), row.value<std::int64_t>(2)));
      });
  each_row(
      connection,
      "SELECT timeline_id, count(*), min(tensor) FROM timeline_memory "
      "JOIN planned_tensor USING (plan_id) WHERE NOT EXISTS (SELECT 1 FROM timeline_tensor WHERE "
      "timeline_tensor.timeline_id = timeline_memory.timeline_id "
      "AND timeline_tensor.tensor = planned_tensor.tensor) GROUP BY timeline_id",
      [&](const Statement& row) {
        problems.push_back(fmt::format(
            "timeline {} has memory for {} tensors it does not describe, the first is tensor "
            "{}",
            row.value<std::int64_t>(0), row.value<std::int64_t>(1), row.value<std::int64_t>(2)));
      });
}

void check_studies(const Connection& connection, Problems& problems) {
  for (const auto& [column, what] :
       {std::pair{"profile_runs_json", "profiled"}, std::pair{"refinement_runs_json", "refined"}}) {
    each_row(connection,
             fmt::format("SELECT DISTINCT study.name, run.value FROM study, json_tree({0}) AS run "
                         "WHERE {0} <> '' AND run.type = 'integer' AND NOT EXISTS "
                         "(SELECT 1 FROM run AS stored WHERE stored.id = run.value)",
                         column),
             [&, what = what](const Statement& row) {
               problems.push_back(fmt::format("study {} was {} by run {}, which does not exist",
                                              row.value<std::string>(0), what,
                                              row.value<std::string>(1)));
             });
  }
}

/// Of the rows of a table: timeline by timeline where times of spans are looked up.
template <class Record>
std::vector<std::string> parts_of_table(const Connection& connection) {
  if constexpr (!std::same_as<Record, Allocation>) return {""};
  std::vector<std::string> parts;
  Statement timelines(connection, "SELECT id FROM timeline");
  while (timelines.step()) {
    parts.push_back(fmt::format(" WHERE timeline_id = {}", timelines.value<std::int64_t>(0)));
  }
  return parts;
}

/// What reading a row of this table refuses, by column: the first, and how many more there are.
template <class Record>
void check_rows_of(const Connection& connection, Problems& problems) {
  struct Refused {
    std::string first;
    std::int64_t rows = 0;
  };
  std::map<std::string, Refused> refused;  // by column
  try {
    RowBounds bounds(connection);
    for (const std::string& where : parts_of_table<Record>(connection)) {
      Statement statement(connection, fmt::format("SELECT {} FROM {}{}", column_list<Record>(),
                                                  Table<Record>::name, where));
      while (statement.step()) {
        try {
          bounds.check(statement.record<Record>());
        } catch (const WrongValue& wrong) {
          Refused& of_column = refused[wrong.column];
          if (of_column.rows++ == 0) of_column.first = wrong.problem;
        }
      }
    }
  } catch (const Error& error) {
    if (error.kind != ErrorKind::sql) throw;  // else a table or column is missing, as was said
  }
  for (const auto& [column, of_column] : refused) {
    const std::string more =
        of_column.rows == 1 ? "" : fmt::format("; {} such rows", of_column.rows);
    problems.push_back(of_column.first + more);
  }
}

template <class... Records>
void check_rows(const Connection& connection, Problems& problems) {
  (check_rows_of<Records>(connection, problems), ...);
}

}  // namespace

std::vector<std::string> find_problems(const Connection& connection, double stale_after_s) {
  Problems problems;
  try {
    check_pages(connection, problems);
    check_schema(connection, problems);
    check_rows<Machine, Run, RunRank, RunLink, RunProduct, Schedule, Iteration, Load, Balance,
               RankLoad, ExpertPlace, Study, Trial, PredictionQuality, TrialRepeat, Fit,
               Measurement, MeasurementSamples, MeasurementRank, PredictedSetup, Figure,
               TimelineInfo, TimelineOp, OpEdge, RankGroup, TimelineTensor, Allocation, Span,
               StudyCosts, RankActivity, OpActivity>(connection, problems);
    check_unfinished(connection, stale_after_s, problems);
    check_times(connection, stale_after_s, problems);
    check_iterations(connection, problems);
    check_timelines(connection, problems);
    check_studies(connection, problems);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::corrupt && problems.empty()) throw;
    problems.emplace_back(error.what());
  }
  return problems;
}

void require_sound(const Connection& connection) {
  if (connection.path() == ":memory:") return;
  constexpr std::int64_t kWhole_bytes = std::int64_t{256} << 20;  // about half a second
  std::string damage;
  try {
    const Connection reader = open_reader(connection.path());
    Statement pages(reader,
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    const bool whole = !pages.step() || pages.value<std::int64_t>(0) <= kWhole_bytes;
    const std::vector<std::string> checks =
        whole ? std::vector<std::string>{"1"}
              : std::vector<std::string>{"run", "run_rank", "schedule", "study", "trial"};
    for (const std::string& what : checks) {
      each_row(reader, fmt::format("PRAGMA quick_check({})", what), [&](const Statement& row) {
        const auto text = row.value<std::string>(0);
        if (text != "ok" && damage.empty()) damage = text;
      });
    }
  } catch (const Error& error) {
    if (error.kind == ErrorKind::locked) return;  // nothing is known of the pages
    damage = error.what();
  }
  if (damage.empty()) return;
  throw Error(ErrorKind::gone,
              fmt::format("{}: was damaged while it was written: {}", connection.path(), damage));
}

Fixed fix_stale(Connection& connection, double stale_after_s) {
  return {requeue_stale_trials(connection, 0, stale_after_s),
          mark_stale_runs_killed(connection, stale_after_s)};
}

}  // namespace db
