#include "db/output_place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "db/connection.h"
#include "tests/db/temporary_directory.h"

namespace db::output_place_test {
namespace {

namespace fs = std::filesystem;

TEST(OutputPlace, WhatBelongsToADatabaseIsRefusedUnderAnyName) {
  const TemporaryDirectory directory;
  const auto database = directory.file("a.db");
  const auto connection = open_writer(database);
  fs::create_symlink("a.db-wal", directory.file("link"));
  fs::create_hard_link(database, directory.file("hard"));
  for (const char* name :
       {"a.db", "a.db-wal", "a.db-shm", "a.db-journal", "./a.db", "link", "hard"}) {
    try {
      refuse_database_as_output(directory.file(name), database);
      ADD_FAILURE() << name << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::invalid);
    }
  }
  EXPECT_NO_THROW(refuse_database_as_output(directory.file("a.json"), database));
  EXPECT_NO_THROW(refuse_database_as_output("-", database));
  EXPECT_NO_THROW(refuse_database_as_output(database, ""));
}

}  // namespace
}  // namespace db::output_place_test
