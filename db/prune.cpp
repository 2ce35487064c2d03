#include "db/prune.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>
#include <vector>

#include "db/programs.h"
#include "db/statement.h"
#include "db/timeline/activity_rows.h"
#include "db/transaction.h"

namespace db {
namespace {

/// Timelines with spans, and whether each is to go and whether a study's costs come from it.
constexpr char kOlder[] =
    "SELECT id, run_id IN (SELECT run.value FROM study, "
    "json_tree(nullif(profile_runs_json, '')) AS run WHERE run.type = 'integer' UNION "
    "SELECT run.value FROM study, json_tree(nullif(refinement_runs_json, '')) AS run "
    "WHERE run.type = 'integer' UNION "
    "SELECT nullif(parameters_json, '') ->> 'run' FROM measurement "
    "WHERE op = 'micro_profile' AND nullif(parameters_json, '') ->> 'study' IN "
    "(SELECT name FROM study) AND nullif(parameters_json, '') ->> 'run' IS NOT NULL) FROM ("
    "SELECT id, run_id, row_number() OVER (PARTITION BY kind, trial_id, "
    "CASE WHEN trial_id IS NULL THEN run_id END ORDER BY id DESC) AS age FROM timeline "
    "WHERE EXISTS (SELECT 1 FROM span WHERE timeline_id = timeline.id)) WHERE age > ?1";

std::int64_t bytes_of(const std::string& path) {
  std::int64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code failed;
    const auto size = std::filesystem::file_size(path + suffix, failed);
    if (!failed) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::int64_t number_of(const Connection& connection, const std::string& sql, std::int64_t id) {
  Statement statement(connection, sql);
  statement.bind(id);
  statement.step();
  return statement.value<std::int64_t>(0);
}

void remove_spans(Connection& connection, std::int64_t timeline) {
  Statement statement(connection, "DELETE FROM span WHERE timeline_id = ?");
  statement.bind(timeline).run();
  forget_program(connection, timeline);
}

}  // namespace

Pruned prune_timelines(Connection& connection, int keep) {
  Pruned pruned;
  pruned.bytes_before = bytes_of(connection.path());
  add_missing_activity(connection);
  Transaction transaction(connection, "remove spans");
  std::vector<std::int64_t> removed;
  Statement older(connection, kOlder);
  older.bind(keep);
  while (older.step()) {
    if (older.value<std::optional<int>>(1).value_or(0) != 0) {
      ++pruned.kept_for_studies;
    } else {
      removed.push_back(older.value<std::int64_t>(0));
    }
  }
  for (const std::int64_t timeline : removed) {
    pruned.spans +=
        number_of(connection, "SELECT count(*) FROM span WHERE timeline_id = ?", timeline);
    remove_spans(connection, timeline);
  }
  pruned.timelines = static_cast<std::int64_t>(removed.size());
  const std::int64_t unused = remove_unused_programs(connection);
  transaction.commit();
  if (pruned.timelines > 0 || unused > 0) {
    // The copy that VACUUM makes is as large as the file.
    Statement(connection, "PRAGMA temp_store = FILE").run();
    Statement(connection, "VACUUM").run();
    Statement(connection, "PRAGMA wal_checkpoint(TRUNCATE)").step();
  }
  pruned.bytes_after = bytes_of(connection.path());
  return pruned;
}

}  // namespace db
