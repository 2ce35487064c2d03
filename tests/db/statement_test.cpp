#include "db/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/programs.h"
#include "tests/db/sample.h"

namespace db::statement_test {
namespace {

template <class Record>
void expect_table_matches(const Connection& connection) {
  Statement statement(connection,
                      std::string("SELECT group_concat(name, ', ') FROM pragma_table_info('") +
                          Table<Record>::name + "')");
  ASSERT_TRUE(statement.step());
  std::vector<std::string> in_schema, in_struct;
  const auto split = [](const std::string& list) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= list.size();) {
      const auto end = std::min(list.find(", ", at), list.size());
      names.push_back(list.substr(at, end - at));
      at = end + 2;
    }
    return names;
  };
  EXPECT_THAT(split(column_list<Record>()),
              testing::UnorderedElementsAreArray(split(statement.value<std::string>(0))))
      << Table<Record>::name;
}

template <class... Records>
void expect_all_tables_match(const Connection& connection) {
  (expect_table_matches<Records>(connection), ...);
  std::vector<std::string> tables;
  Statement statement(connection,  // file_identity has no record
                      "SELECT name FROM sqlite_master WHERE type = 'table' "
                      "AND name <> 'file_identity'");
  while (statement.step()) tables.push_back(statement.value<std::string>(0));
  std::vector<std::string> with_records{Table<Records>::name...};
  for (const char* view :
       {"timeline_op", "op_edge", "rank_group", "timeline_tensor", "allocation"}) {
    std::erase(with_records, view);
  }
  for (const char* table : tables_of_programs()) with_records.emplace_back(table);
  EXPECT_THAT(tables, testing::UnorderedElementsAreArray(with_records));
}

TEST(Statement, ColumnsOfEveryRecordAreThoseOfTheSchema) {
  expect_all_tables_match<Machine, db::Run, RunRank, RunLink, RunProduct, Schedule, Iteration, Load,
                          Balance, RankLoad, ExpertPlace, Study, StudyCosts, Trial,
                          PredictionQuality, TrialRepeat, Fit, Measurement, MeasurementSamples,
                          MeasurementRank, PredictedSetup, Figure, TimelineInfo, TimelineOp, OpEdge,
                          RankGroup, TimelineTensor, Allocation, Span, RankActivity, OpActivity>(
      open_writer(":memory:"));
}

TEST(Statement, ValuesComeBackAsTheyWere) {
  const auto connection = open_writer(":memory:");
  Statement statement(connection, "SELECT ?1, ?2, ?3, ?4, ?5");
  const std::string text("with \0 inside", 13);
  statement.bind(std::int64_t{1} << 62, -7, 0.1, text, std::optional<double>());
  ASSERT_TRUE(statement.step());
  EXPECT_EQ(statement.value<std::int64_t>(0), std::int64_t{1} << 62);
  EXPECT_EQ(statement.value<int>(1), -7);
  EXPECT_EQ(statement.value<double>(2), 0.1);
  EXPECT_EQ(statement.value<std::string>(3), text);
  EXPECT_EQ(statement.value<std::optional<double>>(4), std::nullopt);
}

TEST(Statement, ANumberThatIsNotFiniteIsRefusedWhereverItIsWritten) {
  const Connection connection = open_writer(":memory:");
  connection.database().exec("CREATE TABLE bag (real REAL)");
  Statement statement(connection, "INSERT INTO bag VALUES (?)");
  for (const double number : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(statement.bind(number), Error) << number;
    EXPECT_THROW(statement.bind(std::optional(number)), Error) << number;
  }
  statement.bind(std::optional<double>()).run();
  EXPECT_EQ(connection.database().execAndGet("SELECT count(*) - count(real) FROM bag").getInt(), 1);
}

TEST(Statement, WrongSqlIsAnErrorThatSaysWhy) {
  const auto connection = open_writer(":memory:");
  try {
    Statement(connection, "SELECT nonsense");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::sql);
    EXPECT_NE(std::string(error.what()).find("no such column: nonsense"), std::string::npos);
  }
}

}  // namespace
}  // namespace db::statement_test
