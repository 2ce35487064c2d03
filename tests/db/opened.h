#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "db/connection.h"
#include "db/error.h"
#include "tests/db/sample.h"

namespace db {

/// The kind of the Error that `action` throws. The test fails where it throws none.
inline ErrorKind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind;
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::sql;
}

/// Opens the database at `path` for writing and stores the sample in it.
inline void fill(const std::string& path) {
  auto connection = open_writer(path);
  store_sample(connection);
}

}  // namespace db
