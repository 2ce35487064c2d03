#include "db/run_chain.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "db/load.h"
#include "db/query.h"
#include "tests/db/sample.h"

namespace db::run_chain_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RunChain : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");
  std::int64_t machine = find_or_insert(connection, sample_machine());

  /// A run with the iterations first..last, whose losses are its own id.
  std::int64_t add(std::optional<std::int64_t> resumes, int first, int last,
                   double started_at = 100) {
    db::Run run = sample_run(machine);
    run.started_at = started_at;
    run.pid = 4;
    run.resumes_run_id = resumes;
    const std::int64_t id = insert(connection, run);
    std::vector<Iteration> rows;
    for (int i = first; i <= last; ++i) {
      Iteration& row = rows.emplace_back();
      row.run_id = id;
      row.iteration = i;
      row.loss = static_cast<double>(id);
    }
    insert(connection, rows);
    return id;
  }
  std::vector<std::pair<int, double>> before(std::int64_t run) const {
    std::vector<std::pair<int, double>> all;
    for (const Iteration& row : load_iterations_before(connection, run)) {
      all.emplace_back(row.iteration, row.loss);
    }
    return all;
  }
};

TEST_F(RunChain, TheLastRowIsOfTheLastRunThatHasAny) {
  const auto one = add(std::nullopt, 1, 5), two = add(one, 6, 5), none = add(std::nullopt, 1, 0);
  ASSERT_TRUE(last_stored(connection, two));
  EXPECT_EQ(last_stored(connection, two)->run_id, one);
  EXPECT_EQ(last_stored(connection, two)->iteration, 5);
  EXPECT_FALSE(last_stored(connection, none));
  EXPECT_FALSE(last_stored(connection, 99));
}

TEST_F(RunChain, IterationsThatALaterRunHasRepeatedAreVoid) {
  const auto one = add(std::nullopt, 1, 5), two = add(one, 4, 6), three = add(two, 5, 9);
  const auto first = static_cast<double>(one), second = static_cast<double>(two);
  EXPECT_THAT(before(one), IsEmpty());
  EXPECT_THAT(before(two),
              ElementsAre(std::pair(1, first), std::pair(2, first), std::pair(3, first)));
  EXPECT_THAT(before(three), ElementsAre(std::pair(1, first), std::pair(2, first),
                                         std::pair(3, first), std::pair(4, second)));
  const auto none_yet = add(two, 1, 0);
  EXPECT_THAT(before(none_yet).back(), std::pair(6, second));
  EXPECT_THAT(before(77), IsEmpty());
}

TEST_F(RunChain, ACircleEnds) {
  const auto one = add(std::nullopt, 1, 2), two = add(one, 3, 4);
  connection.database().exec(
      fmt::format("UPDATE run SET resumes_run_id = {} WHERE id = {}", two, one));
  EXPECT_THAT(before(two), testing::SizeIs(2));
}

TEST_F(RunChain, ARunIsFoundByWhatItIsAndNotByItsNumber) {
  const auto run = add(std::nullopt, 1, 1, 123.4567891234567);
  EXPECT_EQ(find_run(connection, {123.4567891234567, 4, "node0"}), run);
  EXPECT_EQ(find_run(connection, {123.4567891234568, 4, "node0"}), std::nullopt);
  EXPECT_EQ(find_run(connection, {123.4567891234567, 5, "node0"}), std::nullopt);
  EXPECT_EQ(find_run(connection, {123.4567891234567, 4, "node1"}), std::nullopt);
}

TEST_F(RunChain, RunViewNamesThePredecessor) {
  const auto one = add(std::nullopt, 1, 1), two = add(one, 2, 2);
  Query query(connection, "SELECT run, resumes_run FROM run_view WHERE resumes_run IS NOT NULL");
  EXPECT_EQ(query.next().value(), (std::vector<Cell>{two, one}));
  EXPECT_FALSE(query.next());
}

}  // namespace
}  // namespace db::run_chain_test
