#include "db/migrations.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "db/connection.h"
#include "db/load.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db {
namespace {

OpenOptions with_extra(const std::string& sql) {
  OpenOptions options;
  options.migrations.push_back({options.migrations.back().version + 1, sql});
  return options;
}

TEST(Migrations, VersionsCountUpFromOne) {
  int version = 0;
  for (const Migration& migration : all_migrations()) EXPECT_EQ(migration.version, ++version);
}

TEST(Migrations, BringAnOlderFileUpAndKeepItsRows) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  {
    auto connection = open_writer(path);
    store_sample(connection);
  }
  const auto newer = with_extra("ALTER TABLE run ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine'");
  {
    const auto connection = open_writer(path, newer);
    SQLite::Statement mood(connection.database(), "SELECT mood FROM run");
    ASSERT_TRUE(mood.executeStep());
    EXPECT_EQ(mood.getColumn(0).getString(), "fine");
    EXPECT_EQ(load_runs(connection).size(), 1U);
  }
  EXPECT_EQ(read_file(path).at(63), 2);  // user_version, in the file itself
  EXPECT_NO_THROW(open_reader(path, newer));
  EXPECT_THROW(open_reader(path), Error);
}

TEST(Migrations, ApplyAllToANewFile) {
  const auto connection = open_writer(":memory:", with_extra("CREATE TABLE extra (id INTEGER)"));
  EXPECT_TRUE(connection.database().tableExists("extra"));
  EXPECT_TRUE(connection.database().tableExists("run"));
}

TEST(Migrations, OneThatFailsLeavesTheFileAsItWas) {
  const TemporaryDirectory directory;
  const auto path = directory.file("a.db");
  {
    auto connection = open_writer(path);
    store_sample(connection);
  }
  const auto before = snapshot(directory.path());
  EXPECT_THROW(
      open_writer(path, with_extra("CREATE TABLE extra (id INTEGER); CREATE TABLE run (id)")),
      Error);
  EXPECT_TRUE(read_file(path) == before.at("a.db"));
  EXPECT_EQ(load_runs(open_reader(path)).size(), 1U);
}

TEST(Migrations, ReaderSaysHowToBringAnOlderFileUp) {
  const TemporaryDirectory directory;
  { open_writer(directory.file("a.db")); }
  try {
    open_reader(directory.file("a.db"), with_extra("SELECT 1"));
    ADD_FAILURE() << "an older file was opened for reading";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::older);
    EXPECT_NE(std::string(error.what()).find("moe-db check --fix"), std::string::npos);
  }
}

}  // namespace
}  // namespace db
