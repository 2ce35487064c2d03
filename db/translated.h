#pragma once

#include <SQLiteCpp/Exception.h>

#include <chrono>
#include <string>

#include "db/error.h"

namespace db {

/// What `function` returns; a SQLite exception becomes an Error that names the file and `doing`.
/// `handle`: of the database, where one is open until then.
template <class Function>
auto translated(const std::string& path, const std::string& doing, Function function,
                sqlite3* handle = nullptr) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    return function();
  } catch (const SQLite::Exception& exception) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    throw translate(exception.getExtendedErrorCode(), exception.what(), handle, path, doing,
                    waited.count());
  }
}

}  // namespace db
