#include "db/check.h"

#include <fmt/core.h>

#include "db/statement.h"
#include "db/store.h"

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
  each_row(wanted, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL",
           [&](const Statement& row) {
             const auto what = row.value<std::string>(0) + " " + row.value<std::string>(1);
             Statement found(connection,
                             "SELECT sql FROM sqlite_schema WHERE type = ? AND name = ?");
             const auto type = row.value<std::string>(0);
             const auto name = row.value<std::string>(1);
             found.bind(type, name);
             if (!found.step()) {
               problems.push_back(what + " is missing");
             } else if (found.value<std::string>(0) != row.value<std::string>(2)) {
               problems.push_back(what + " is not as this version makes it");
             }
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

void check_timelines(const Connection& connection, Problems& problems) {
  each_row(connection,
           "SELECT id, kind FROM timeline "
           "WHERE NOT EXISTS (SELECT 1 FROM span WHERE timeline_id = timeline.id)",
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
}

void check_studies(const Connection& connection, Problems& problems) {
  each_row(connection,
           "SELECT study.name, run.value FROM study, json_each(profile_runs_json) AS run "
           "WHERE profile_runs_json <> '' AND NOT EXISTS (SELECT 1 FROM run AS stored "
           "WHERE stored.id = run.value)",
           [&](const Statement& row) {
             problems.push_back(fmt::format("study {} was profiled by run {}, which does not exist",
                                            row.value<std::string>(0), row.value<std::string>(1)));
           });
}

}  // namespace

std::vector<std::string> find_problems(const Connection& connection, double stale_after_s) {
  Problems problems;
  try {
    check_pages(connection, problems);
    check_schema(connection, problems);
    check_unfinished(connection, stale_after_s, problems);
    check_timelines(connection, problems);
    check_studies(connection, problems);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::corrupt && problems.empty()) throw;
    problems.emplace_back(error.what());
  }
  return problems;
}

Fixed fix_stale(Connection& connection, double stale_after_s) {
  return {requeue_stale_trials(connection, 0, stale_after_s),
          mark_stale_runs_killed(connection, stale_after_s)};
}

}  // namespace db
