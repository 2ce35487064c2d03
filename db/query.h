#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/console/format_rows.h"

struct sqlite3_stmt;

namespace db {

/// One SQL statement from a person: it reads and does nothing else, whatever it says. Refused
/// (Error, `sql`): more than one statement, anything that writes, ATTACH, and every PRAGMA that
/// sets something. One at a time per connection.
class Query {
 public:
  /// `parameters` are the values of ?1, ?2, ...
  Query(const Connection& connection, const std::string& sql,
        const std::vector<Cell>& parameters = {});
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  const std::vector<std::string>& columns() const { return columns_; }
  std::optional<std::vector<Cell>> next();

 private:
  [[noreturn]] void fail(int code) const;

  const Connection& connection_;
  std::string sql_;
  std::string denied_;  // the action that the authorizer refused, for the message
  sqlite3_stmt* statement_ = nullptr;
  std::vector<std::string> columns_;
};

/// Writes all rows of a query and returns how many there were.
std::int64_t write_query(std::FILE* file, const Style& style, Query& query);

}  // namespace db
