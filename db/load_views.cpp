#include "db/load_views.h"

#include <utility>

#include "db/statement.h"

namespace db {

std::vector<RunOverview> load_run_overviews(const Connection& connection) {
  Statement statement(
      connection,
      "SELECT run, kind, name, status, error, device, ranks, coalesce(planner, ''), started_at, "
      "duration_s, last_loss, schedule_id FROM run_view ORDER BY started_at DESC, run DESC");
  std::vector<RunOverview> rows;
  while (statement.step()) {
    RunOverview row;
    row.id = statement.value<std::int64_t>(0);
    row.kind = statement.value<std::string>(1);
    row.name = statement.value<std::string>(2);
    row.status = statement.value<std::string>(3);
    row.error = statement.value<std::string>(4);
    row.device = statement.value<std::string>(5);
    row.ranks = statement.value<int>(6);
    row.planner = statement.value<std::string>(7);
    row.started_at = statement.value<double>(8);
    row.duration_s = statement.value<double>(9);
    row.last_loss = statement.value<std::optional<double>>(10);
    row.schedule_id = statement.value<std::optional<std::int64_t>>(11);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::map<std::int64_t, double> load_speedups(const Connection& connection) {
  Statement statement(connection,
                      "SELECT trial, speedup FROM trial_view WHERE speedup IS NOT NULL");
  std::map<std::int64_t, double> speedups;
  while (statement.step()) speedups[statement.value<std::int64_t>(0)] = statement.value<double>(1);
  return speedups;
}

}  // namespace db
