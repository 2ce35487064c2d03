#include "db/schema.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>

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
#include "db/timeline_activity.h"
#include "db/transaction.h"

namespace db {
namespace {

/// Tables, indices and views by name, with the SQL that made them, and the columns of the tables.
struct Shape {
  std::map<std::string, std::string> tables, indices, views;
  std::set<std::pair<std::string, std::string>> columns;
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
  SQLite::Statement columns(database,
                            "SELECT object.name, info.name FROM main.sqlite_schema AS object "
                            "JOIN pragma_table_info(object.name, 'main') AS info "
                            "WHERE object.type = 'table'");
  while (columns.executeStep()) shape.columns.emplace(columns.getColumn(0), columns.getColumn(1));
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

/// What a reader needs of a file of version 7. It has tables of these names where views are wanted.
Shape without_programs(Shape wanted) {
  const auto is_new = [](const std::string& name) {
    return std::ranges::any_of(tables_of_programs(), [&](const char* table) {
      return name == table || name.starts_with(std::string(table) + "_by_");
    });
  };
  std::erase_if(wanted.tables, [&](const auto& table) { return is_new(table.first); });
  std::erase_if(wanted.indices, [&](const auto& index) { return is_new(index.first); });
  std::erase_if(wanted.columns, [&](const auto& column) { return is_new(column.first); });
  for (const char* view : views_of_programs()) wanted.tables[view];
  wanted.columns.emplace("timeline_op", "group_kind");
  return wanted;
}

bool is_of_version_7(const Shape& found) {
  return std::ranges::any_of(views_of_programs(),
                             [&](const char* view) { return found.tables.contains(view); });
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

}  // namespace

const Schema& current_schema() {
  static const Schema schema{
      8,
      std::string(schema_sql),
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
  const Shape needed = is_of_version_7(found) ? without_programs(wanted) : wanted;
  return {!has_tables(found, needed), !has_views(found, wanted)};
}

void bring_up_to_date(Connection& connection, const Schema& schema) {
  SQLite::Database& database = connection.database();
  const SchemaState before = state_of(database, schema);
  if (!before.lacks_tables && !before.other_views) return add_missing_activity(connection);
  Transaction transaction(connection, "create the tables");
  // Another process may have done it while this one waited for the lock.
  const Identity identity = identify(database);
  check_identity(identity, connection.path(), schema, true);
  if (identity.is_empty()) {
    database.exec(schema.tables);
    database.exec(schema.views);
    for (const Filling& filling : schema.fillings) {
      if (filling.column.empty()) database.exec(filling.sql);
    }
    database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  } else {
    const Shape found = shape_of(database), wanted = wanted_shape(schema);
    add_missing(database, found, wanted, connection.path());
    for (const Filling& filling : schema.fillings) {
      const bool has_table = found.tables.contains(filling.table);
      const bool is_new =
          filling.column.empty()
              ? !has_table
              : has_table && !found.columns.contains({filling.table, filling.column});
      if (is_new) database.exec(filling.sql);
    }
    if (is_of_version_7(found)) share_programs(connection);
    if (!has_views(found, wanted)) {
      for (const auto& view : wanted.views) database.exec("DROP VIEW IF EXISTS " + view.first);
      database.exec(schema.views);
    }
    add_missing_activity(connection);
  }
  database.exec(fmt::format("PRAGMA user_version = {}", schema.version));
  transaction.commit();
}

void use_own_views(SQLite::Database& database, const Schema& schema) {
  database.exec("PRAGMA temp_store = MEMORY");
  const Shape found = shape_of(database);
  constexpr std::string_view kCreate = "CREATE";
  for (const auto& [name, sql] : wanted_shape(schema).views) {
    if (found.tables.contains(name)) continue;
    database.exec("CREATE TEMP" + sql.substr(kCreate.size()));
  }
}

}  // namespace db
