#pragma once

#include <fmt/core.h>

#include <string>

#include "db/columns.h"

namespace db {

/// "INSERT INTO table (column, ...) VALUES (?, ...) TAIL" of every column of a record.
template <class Record>
std::string insert_sql(const std::string& tail = "") {
  std::string places;
  for (int i = 1; i <= column_count<Record>(); ++i) places += (i > 1 ? ", ?" : "?");
  return fmt::format("INSERT INTO {} ({}) VALUES ({}) {}", Table<Record>::name,
                     column_list<Record>(), places, tail);
}

}  // namespace db
