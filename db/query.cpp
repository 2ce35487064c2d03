#include "db/query.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace db {
namespace {

// Pragmas that only tell; with an argument the second kind would set.
constexpr std::array kPragmasOfAName{"table_info", "table_xinfo", "table_list",      "index_list",
                                     "index_info", "index_xinfo", "foreign_key_list"};
constexpr std::array kPragmasWithout{
    "application_id", "collation_list", "compile_options", "data_version", "database_list",
    "encoding",       "freelist_count", "function_list",   "journal_mode", "page_count",
    "page_size",      "pragma_list",    "schema_version",  "user_version"};

bool contains(const auto& names, const char* name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* known) { return sqlite3_stricmp(known, name) == 0; });
}

int authorize(void* denied, int action, const char* first, const char* second, const char*,
              const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      if (sqlite3_stricmp(second, "load_extension") != 0) return SQLITE_OK;
      break;
    case SQLITE_UPDATE:  // SQLite's own, when it first sets up json_each and its like
      if (sqlite3_stricmp(first, "sqlite_master") == 0) return SQLITE_OK;
      break;
    case SQLITE_PRAGMA:
      if (contains(kPragmasOfAName, first)) return SQLITE_OK;
      if (second == nullptr && contains(kPragmasWithout, first)) return SQLITE_OK;
      *static_cast<std::string*>(denied) = fmt::format("PRAGMA {}", first);
      return SQLITE_DENY;
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      *static_cast<std::string*>(denied) = "ATTACH or DETACH";
      return SQLITE_DENY;
    default:
      break;
  }
  *static_cast<std::string*>(denied) = "a statement that writes";
  return SQLITE_DENY;
}

// The line of the SQL in which the error is, and a caret below its place.
std::string point_at(const std::string& sql, int offset) {
  if (offset < 0 || static_cast<std::size_t>(offset) > sql.size()) return "";
  const auto place = static_cast<std::size_t>(offset);
  const auto newline = place == 0 ? std::string::npos : sql.rfind('\n', place - 1);
  const auto begin = newline == std::string::npos ? 0 : newline + 1;
  const auto end = std::min(sql.find('\n', place), sql.size());
  return fmt::format("\n  {}\n  {}^", sql.substr(begin, end - begin),
                     std::string(place - begin, ' '));
}

Cell read_cell(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return std::monostate{};
    case SQLITE_BLOB: {
      std::string hex;
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
      for (int i = 0; i < sqlite3_column_bytes(statement, column); ++i) {
        hex += fmt::format("{:02x}", bytes[i]);
      }
      return hex;
    }
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
  }
}

void bind_cell(sqlite3_stmt* statement, int index, const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    sqlite3_bind_int64(statement, index, *integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    sqlite3_bind_double(statement, index, *real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_TRANSIENT,
                        SQLITE_UTF8);
  }
}

}  // namespace

Query::Query(const Connection& connection, const std::string& sql,
             const std::vector<Cell>& parameters)
    : connection_(connection), sql_(sql) {
  sqlite3* handle = connection_.handle();
  sqlite3_set_authorizer(handle, authorize, &denied_);
  try {
    const char* rest = nullptr;
    const int code = sqlite3_prepare_v2(handle, sql_.c_str(), -1, &statement_, &rest);
    if (code != SQLITE_OK) fail(code);
    if (statement_ == nullptr) throw Error(ErrorKind::sql, "no SQL statement was given");
    sqlite3_stmt* second = nullptr;  // a comment or blanks after the first are no statement
    const int tail = sqlite3_prepare_v2(handle, rest, -1, &second, nullptr);
    sqlite3_finalize(second);
    if (second != nullptr || tail != SQLITE_OK) {
      throw Error(ErrorKind::sql, "one SQL statement at a time");
    }
    if (sqlite3_stmt_readonly(statement_) == 0) fail(SQLITE_AUTH);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      bind_cell(statement_, static_cast<int>(i) + 1, parameters[i]);
    }
    for (int i = 0; i < sqlite3_column_count(statement_); ++i) {
      columns_.emplace_back(sqlite3_column_name(statement_, i));
    }
  } catch (...) {
    sqlite3_finalize(statement_);
    sqlite3_set_authorizer(handle, nullptr, nullptr);
    throw;
  }
}

Query::~Query() {
  sqlite3_finalize(statement_);
  sqlite3_set_authorizer(connection_.handle(), nullptr, nullptr);
}

std::optional<std::vector<Cell>> Query::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_DONE) return std::nullopt;
  if (code != SQLITE_ROW) fail(code);
  std::vector<Cell> cells;
  for (int i = 0; i < static_cast<int>(columns_.size()); ++i) {
    cells.push_back(read_cell(statement_, i));
  }
  return cells;
}

void Query::fail(int code) const {
  sqlite3* handle = connection_.handle();
  if (code == SQLITE_AUTH) {
    throw Error(ErrorKind::sql, fmt::format("refused: {}; queries only read",
                                            denied_.empty() ? "a statement that writes" : denied_));
  }
  if (code == SQLITE_ERROR) {
    throw Error(ErrorKind::sql, fmt::format("SQL: {}{}", sqlite3_errmsg(handle),
                                            point_at(sql_, sqlite3_error_offset(handle))));
  }
  throw translate(sqlite3_extended_errcode(handle), sqlite3_errmsg(handle), handle,
                  connection_.path(), "query", connection_.busy_timeout_s());
}

std::int64_t write_query(std::FILE* file, const Style& style, Query& query) {
  RowWriter writer(file, style, query.columns());
  std::int64_t rows = 0;
  for (; const auto cells = query.next(); ++rows) writer.row(*cells);
  writer.finish();
  return rows;
}

}  // namespace db
