#pragma once

#include <string>
#include <vector>

namespace SQLite {
class Database;
}

namespace db {

class Connection;

/// How a column, or a table ("" for the column), that an older file lacks is filled from what the
/// file knows, once, when it is added.
struct Filling {
  std::string table, column;
  std::string sql;  ///< an UPDATE or INSERT
};

/// The tables and views that a program reads and writes.
struct Schema {
  int version = 0;  ///< in the header of a file; grows by a change for which no default serves
  std::string tables;
  std::string views;
  std::vector<Filling> fillings = {};
};

/// schema.sql, timelines.sql and views.sql.
const Schema& current_schema();

/// Whether a file has everything in the schema. Tables and columns of others do not matter.
struct SchemaState {
  bool lacks_tables = false;   ///< a table, a column or an index
  bool requires_more = false;  ///< a column is NOT NULL that may be NULL in the schema
  bool other_views = false;
};
SchemaState state_of(const SQLite::Database& database, const Schema& schema);

/// Makes the tables of a new file. In one that is there it adds the tables, columns and indices
/// that are missing, fills the columns, lets columns be NULL that may be, and makes the views
/// again. A file of version 7 is made one of this version (share_programs in programs.h). That is
/// one transaction: cut short, it leaves the file as it was. Then what views read of the spans of
/// timelines is worked out where it is missing, timeline by timeline (activity_rows.h). Says on
/// stderr what it does to tables and how far it is. Throws Error (older) where the rows that there
/// are need a value for a new column.
void bring_up_to_date(Connection& connection, const Schema& schema);

/// Makes the views of the schema for this connection alone: nothing is written.
void use_own_views(SQLite::Database& database, const Schema& schema);

}  // namespace db
