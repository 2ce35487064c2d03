#include "db/query.h"

#include <gtest/gtest.h>

#include "db/load.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::query_test {
namespace {

class RunQuery : public testing::Test {
 protected:
  TemporaryDirectory directory;
  void SetUp() override {
    auto connection = open_writer(directory.file("a.db"));
    store_sample(connection);
  }
  std::vector<std::vector<Cell>> rows(const std::string& sql,
                                      const std::vector<Cell>& parameters = {}) {
    const auto connection = open_reader(directory.file("a.db"));
    Query query(connection, sql, parameters);
    std::vector<std::vector<Cell>> all;
    while (const auto cells = query.next()) all.push_back(*cells);
    return all;
  }
};

TEST_F(RunQuery, ReadsEveryTypeOfCell) {
  const auto all = rows("SELECT 1, 0.5, 'text', NULL, x'00ff'");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0], (std::vector<Cell>{std::int64_t{1}, 0.5, "text", std::monostate{}, "00ff"}));
}

TEST_F(RunQuery, TakesParametersCommentsAndATrailingSemicolon) {
  EXPECT_EQ(
      rows("SELECT planner FROM trial_view WHERE trial = ?1; -- the end", {std::int64_t{2}})[0][0],
      Cell("tutel"));
}

TEST_F(RunQuery, ReadsTheSchemaAndJson) {
  EXPECT_FALSE(rows("SELECT name FROM pragma_table_info('run')").empty());
  EXPECT_FALSE(rows("PRAGMA table_info(run)").empty());
  EXPECT_EQ(rows("PRAGMA user_version")[0][0], Cell(std::int64_t{current_schema().version}));
  EXPECT_EQ(rows("SELECT value FROM json_each('[7]')")[0][0], Cell(std::int64_t{7}));
  EXPECT_FALSE(rows("EXPLAIN QUERY PLAN SELECT * FROM run").empty());
  EXPECT_EQ(
      rows(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5) SELECT i FROM n")
          .size(),
      5U);
}

TEST_F(RunQuery, RefusesEverythingThatWrites) {
  const auto before = read_file(directory.file("a.db"));
  const std::string other = directory.file("other.db");
  for (const std::string& sql : std::vector<std::string>{"DELETE FROM run",
                                                         "INSERT INTO run DEFAULT VALUES",
                                                         "UPDATE run SET name = ''",
                                                         "DROP TABLE span",
                                                         "CREATE TABLE x (a)",
                                                         "CREATE TEMP TABLE x (a)",
                                                         "ALTER TABLE run RENAME TO x",
                                                         "ATTACH '" + other + "' AS other",
                                                         "VACUUM",
                                                         "VACUUM INTO '" + other + "'",
                                                         "REINDEX",
                                                         "ANALYZE",
                                                         "BEGIN",
                                                         "COMMIT",
                                                         "SAVEPOINT x",
                                                         "PRAGMA user_version = 9",
                                                         "PRAGMA journal_mode = DELETE",
                                                         "PRAGMA writable_schema = ON",
                                                         "PRAGMA wal_checkpoint(TRUNCATE)",
                                                         "PRAGMA query_only = OFF",
                                                         "UPDATE sqlite_master SET sql = ''",
                                                         "SELECT load_extension('x')",
                                                         "SELECT * FROM pragma_wal_checkpoint",
                                                         "SELECT 1; DELETE FROM run",
                                                         "EXPLAIN DELETE FROM run"}) {
    EXPECT_THROW(rows(sql), Error) << sql;
  }
  EXPECT_TRUE(read_file(directory.file("a.db")) == before);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(RunQuery, RefusesToWriteThroughAWritersConnectionToo) {
  auto connection = open_writer(":memory:");
  store_sample(connection);
  EXPECT_THROW(Query(connection, "DELETE FROM run"), Error);
  EXPECT_EQ(load_runs(connection).size(), 1U);
  EXPECT_NO_THROW(heartbeat_run(connection, 1));  // the refusal ends with the query
}

TEST_F(RunQuery, PointsAtWhatIsWrong) {
  try {
    rows("SELECT *\nFORM run");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "SQL: near \"FORM\": syntax error\n  FORM run\n  ^");
  }
  EXPECT_THROW(rows(""), Error);
  EXPECT_THROW(rows("-- nothing"), Error);
}

}  // namespace
}  // namespace db::query_test
