#include "db/schema.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "db/connection.h"
#include "db/inspect.h"
#include "db/programs.h"
#include "db/schema_sql.h"
#include "db/timeline/activity_rows.h"
#include "db/transaction.h"

namespace db {
namespace {

using TableColumns = std::set<std::pair<std::string, std::string>>;

/// The version since which a file stores what timelines share once (programs.h).
constexpr int kSharedSince = 8;

/// Tables, indices and views by name, with the SQL that made them, and the columns of the tables.
struct Shape {
  std::map<std::string, std::string> tables, indices, views;
  TableColumns columns;
  TableColumns not_null;  ///< those of them that always have a value
};

Shape shape_of(const SQLite::Database& database) {
  Shape shape;
  SQLite::Statement objects(database,
                            "SELECT type, name, sql FROM main.sqlite_schema WHERE sql > ''");
  while (objects.executeStep()) {
    const std::string type = objects.getColumn(0);
    auto& named = type == "table" ? shape.tables : type == "view" ? shape.views : shape.indices;
    named[objects.getColumn(1)] = objects.getColumn(2).getString();
  }
  SQLite::Statement columns(
      database,
      "SELECT object.name, info.name, info.\"notnull\" FROM main.sqlite_schema AS object "
      "JOIN pragma_table_info(object.name, 'main') AS info "
      "WHERE object.type = 'table'");
  while (columns.executeStep()) {
    shape.columns.emplace(columns.getColumn(0), columns.getColumn(1));
    if (columns.getColumn(2).getInt() != 0) {
      shape.not_null.emplace(columns.getColumn(0), columns.getColumn(1));
    }
  }
  return shape;
}

Shape made_shape(const Schema& schema) {
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE);
  database.exec(schema.tables);
  database.exec(schema.views);
  return shape_of(database);
}

Shape wanted_shape(const Schema& schema) {
  static const Shape current = made_shape(current_schema());
  return &schema == &current_schema() ? current : made_shape(schema);
}

template <class Named>
bool has_all(const Named& found, const Named& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const auto& entry) { return found.contains(entry.first); });
}

bool has_tables(const Shape& found, const Shape& wanted) {
  return has_all(found.tables, wanted.tables) && has_all(found.indices, wanted.indices) &&
         std::includes(found.columns.begin(), found.columns.end(), wanted.columns.begin(),
                       wanted.columns.end());
}

/// Columns that have a value in every row of the file, and may be NULL by now.
TableColumns loosened_columns(const Shape& found, const Shape& wanted) {
  TableColumns loosened;
  for (const auto& column : found.not_null) {
    if (wanted.columns.contains(column) && !wanted.not_null.contains(column)) {
      loosened.insert(column);
    }
  }
  return loosened;
}

bool has_views(const Shape& found, const Shape& wanted) {
  return std::all_of(wanted.views.begin(), wanted.views.end(), [&](const auto& view) {
    const auto there = found.views.find(view.first);
    return there != found.views.end() && there->second == view.second;
  });
}

/// "name TYPE ..." of a column, as CREATE TABLE has it: from the line that begins with the name to
/// the comma, or to the end of the table.
std::string column_definition(const std::string& create_table, const std::string& column) {
  const std::size_t begin = create_table.find("\n  " + column + " ");
  if (begin == std::string::npos) return column;
  int open = 0;
  std::size_t at = begin;
  for (; at < create_table.size(); ++at) {
    const char c = create_table[at];
    if (create_table.compare(at, 2, "--") == 0) break;
    if (c == '(') ++open;
    if (c == ')' && --open < 0) break;
    if (c == ',' && open == 0) break;
  }
  return create_table.substr(begin, at - begin);
}

void add_missing(SQLite::Database& database, const Shape& found, const Shape& wanted,
                 const std::string& path) {
  for (const auto& [name, sql] : wanted.tables) {
    if (!found.tables.contains(name)) database.exec(sql);
  }
  for (const auto& [table, column] : wanted.columns) {
    if (!found.tables.contains(table) || found.columns.contains({table, column})) continue;
    try {
      database.exec(fmt::format("ALTER TABLE {} ADD COLUMN {}", table,
                                column_definition(wanted.tables.at(table), column)));
    } catch (const SQLite::Exception& exception) {
      throw Error(ErrorKind::older,
                  fmt::format("{}: has no {}.{}, which its rows need ({}): begin a new database",
                              path, table, column, exception.what()));
    }
  }
  for (const auto& [name, sql] : wanted.indices) {
    if (!found.indices.contains(name)) database.exec(sql);
  }
}

/// SQLite takes NOT NULL from no column. So the values move to a new one. No view may read it.
void loosen(SQLite::Database& database, const Shape& found, const Shape& wanted) {
  for (const auto& [table, column] : loosened_columns(found, wanted)) {
    database.exec(
        fmt::format("ALTER TABLE {0} RENAME COLUMN {1} TO former_{1};"
                    "ALTER TABLE {0} ADD COLUMN {2};"
                    "UPDATE {0} SET {1} = former_{1};"
                    "ALTER TABLE {0} DROP COLUMN former_{1}",
                    table, column, column_definition(wanted.tables.at(table), column)));
  }
}

void fill_new_columns(Connection& connection, const Shape& found, const Schema& schema) {
  for (const Filling& filling : schema.fillings) {
    const bool has_table = found.tables.contains(filling.table);
    const bool is_new = filling.column.empty()
                            ? !has_table
                            : has_table && !found.columns.contains({filling.table, filling.column});
    if (!is_new) continue;
    if (!filling.column.empty()) {
      const std::int64_t rows =
          connection.database()
              .execAndGet(fmt::format("SELECT count(*) FROM {}", filling.table))
              .getInt64();
      spdlog::info("{}: filling {}.{} of {} rows", connection.path(), filling.table, filling.column,
                   rows);
    }
    connection.database().exec(filling.sql);
  }
}

void make_tables(SQLite::Database& database, const Schema& schema) {
  database.exec(schema.tables);
  database.exec(schema.views);
  for (const Filling& filling : schema.fillings) {
    if (filling.column.empty()) database.exec(filling.sql);
  }
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
}

/// Makes all views, and those of a user as they were.
void make_views(SQLite::Database& database, const Shape& found, const Shape& wanted,
                const Schema& schema) {
  database.exec(schema.views);
  for (const auto& [name, sql] : found.views) {
    if (!wanted.views.contains(name)) database.exec(sql);
  }
}

void change_tables(Connection& connection, int version, const Schema& schema) {
  SQLite::Database& database = connection.database();
  const Shape found = shape_of(database), wanted = wanted_shape(schema);
  const bool has_all_tables = has_tables(found, wanted) && loosened_columns(found, wanted).empty();
  if (version < schema.version) {
    spdlog::info("{}: version {}, made by an older moelab: making it version {}", connection.path(),
                 version, schema.version);
  } else if (!has_all_tables) {
    spdlog::info("{}: made by an older moelab: adding what it lacks", connection.path());
  }
  for (const auto& [name, sql] : found.views) database.exec("DROP VIEW \"" + name + '"');
  add_missing(database, found, wanted, connection.path());
  loosen(database, found, wanted);
  fill_new_columns(connection, found, schema);
  if (version < kSharedSince) share_programs(connection);
  make_views(database, found, wanted, schema);
}

}  // namespace

const Schema& current_schema() {
  static const Schema schema{
      8,
      std::string(schema_sql) + std::string(timelines_sql),
      std::string(views_sql),
      // A run in experiments/cluster-in-a-box has stored the rate of its cards (network.h).
      {{"run", "network",
        "UPDATE run SET network = "
        "CASE WHEN environment_json ->> 'MOELAB_BOX_PACED' > '' THEN 'paced ' ELSE '' END || "
        "printf('box %g Gbit/s', environment_json ->> 'MOELAB_BOX_NIC_GBPS') || "
        "CASE WHEN environment_json ->> 'MOELAB_BOX_INTRA_GBPS' > '' THEN "
        "printf(', inside %g Gbit/s', environment_json ->> 'MOELAB_BOX_INTRA_GBPS') ELSE '' END "
        "WHERE nullif(environment_json, '') ->> 'MOELAB_BOX_NIC_GBPS' > ''"},
       {"trial", "failure",
        "UPDATE trial SET failure = status WHERE status IN "
        "('infeasible', 'out_of_memory', 'hung', 'crashed', 'failed')"},
       // Iterations whose loads are stored tell what was asked for.
       {"balance", "max_asked_tokens",
        "UPDATE balance SET max_asked_tokens = "
        "(SELECT max(asked) FROM (SELECT sum(asked_tokens) AS asked FROM load "
        "WHERE load.run_id = balance.run_id AND load.iteration = balance.iteration "
        "AND load.layer = balance.layer GROUP BY expert "
        "HAVING count(asked_tokens) = count(*)))"},
       {"predicted_setup", "whole_blocks",
        "UPDATE predicted_setup SET whole_blocks = "
        "(SELECT count(*) FROM schedule JOIN json_each(schedule.json, '$.decisions') AS decision "
        "WHERE schedule.id = schedule_id AND decision.value ->> 'decision' = 'restore_block' "
        "AND decision.value ->> 'communication' = 'repeat') WHERE restored_blocks > 0"},
       {"file_identity", "", "INSERT INTO file_identity VALUES (lower(hex(randomblob(16))))"},
       // Of the costs that a study had, the newest are known.
       {"study_costs", "",
        "INSERT INTO study_costs SELECT id, "
        "coalesce(json_array_length(nullif(refinement_runs_json, '')), 0), cost_model_json "
        "FROM study WHERE cost_model_json <> ''"}}};
  return schema;
}

SchemaState state_of(const SQLite::Database& database, const Schema& schema) {
  const Shape found = shape_of(database), wanted = wanted_shape(schema);
  return {!has_tables(found, wanted), !loosened_columns(found, wanted).empty(),
          !has_views(found, wanted)};
}

void bring_up_to_date(Connection& connection, const Schema& schema) {
  SQLite::Database& database = connection.database();
  const SchemaState before = state_of(database, schema);
  if (before.lacks_tables || before.requires_more || before.other_views ||
      identify(database).version < schema.version) {
    Transaction transaction(connection, "create the tables");
    // Another process may have done it while this one waited for the lock.
    const Identity identity = identify(database);
    check_identity(identity, connection.path(), schema, true);
    if (identity.is_empty()) {
      make_tables(database, schema);
    } else {
      change_tables(connection, identity.version, schema);
    }
    database.exec(fmt::format("PRAGMA user_version = {}", schema.version));
    transaction.commit();
  }
  add_missing_activity(connection);
}

void use_own_views(SQLite::Database& database, const Schema& schema) {
  database.exec("PRAGMA temp_store = MEMORY");
  constexpr std::string_view kCreate = "CREATE";
  for (const auto& [name, sql] : wanted_shape(schema).views) {
    database.exec("CREATE TEMP" + sql.substr(kCreate.size()));
  }
}

}  // namespace db
