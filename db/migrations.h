#pragma once

#include <string>
#include <vector>

namespace db {

/// One step of the schema: brings a database of version - 1 to `version`.
struct Migration {
  int version = 0;
  std::string sql;
};

/// Every step in order; the first is schema.sql, the n-th schema_n.sql. The last one's version is
/// what this program reads and writes.
std::vector<Migration> all_migrations();

}  // namespace db
