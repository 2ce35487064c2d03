#include "db/measurement_samples.h"

#include <gmock/gmock.h>

#include "db/query.h"
#include "db/statement.h"
#include "db/store.h"
#include "tests/db/sample.h"

namespace db::measurement_samples_test {
namespace {

using testing::ElementsAre;

class MeasurementSamplesTest : public testing::Test {
 protected:
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);

  std::int64_t stored(const std::string& op, const std::string& parameters,
                      std::vector<double> quantiles, std::vector<double> ranks) {
    SampledMeasurement row;
    row.measurement.run_id = sample.run;
    row.measurement.op = op;
    row.measurement.device = "cpu";
    row.measurement.dtype = "f32";
    row.measurement.parameters_json = parameters;
    row.measurement.flops = 12;
    row.measurement.time_s = 3;
    row.quantiles = std::move(quantiles);
    row.p95_s = 2.5;
    for (const double seconds : ranks) {
      row.ranks.push_back({0, static_cast<int>(row.ranks.size()), seconds, seconds, seconds});
    }
    insert(connection, std::vector{row});
    return load_sampled_measurements(connection, sample.run).back().measurement.id;
  }
  std::vector<Cell> first(const std::string& sql) {
    Query query(connection, sql);
    return query.next().value_or(std::vector<Cell>());
  }
};

TEST_F(MeasurementSamplesTest, ComeBackAsTheyWereStored) {
  const auto id = stored("zz_last", "{}", {1, 1.5, 2.25}, {1, 3});
  const auto rows = load_sampled_measurements(connection, sample.run);
  EXPECT_THAT(rows.back().quantiles, ElementsAre(1, 1.5, 2.25));
  EXPECT_EQ(rows.back().p95_s, 2.5);
  const auto ranks = load_measurement_ranks(connection, id);
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[1].time_s, 3);
  EXPECT_TRUE(rows.front().quantiles.empty()) << "of a measurement whose samples are not known";
}

TEST_F(MeasurementSamplesTest, AViewHasEveryRanksTimeAndHost) {
  stored("linear", "{}", {1}, {2, 3});
  EXPECT_THAT(first("SELECT rank, host, time_s, over_fastest, flops_per_s FROM "
                    "measurement_rank_view WHERE op = 'linear' ORDER BY time_s DESC"),
              ElementsAre(Cell(std::int64_t{1}), Cell("node0"), Cell(3.0), Cell(1.5), Cell(4.0)));
}

TEST_F(MeasurementSamplesTest, PairsHaveAViewOfTheirOwn) {
  stored("ping_pong", R"({"from":0,"from_host":"n0","to":1,"to_host":"n1"})", {1}, {});
  EXPECT_THAT(
      first("SELECT from_rank, to_rank, from_host, to_host, time_s FROM pair_view"),
      ElementsAre(Cell(std::int64_t{0}), Cell(std::int64_t{1}), Cell("n0"), Cell("n1"), Cell(3.0)));
  EXPECT_THAT(first("SELECT p95_s, quantiles FROM measurement_view WHERE op = 'ping_pong'"),
              ElementsAre(Cell(2.5), Cell("[1.0]")));
}

TEST_F(MeasurementSamplesTest, ThoseThatNoProgramStoresAreRefused) {
  const auto id = stored("zz_last", "{}", {1}, {1, 2});
  Statement(connection, "UPDATE measurement_samples SET quantiles_json = '{\"a\":1}'").run();
  EXPECT_THROW(load_sampled_measurements(connection, sample.run), WrongValue);
  Statement(connection, "UPDATE measurement_rank SET rank = 7 WHERE rank = 1").run();
  EXPECT_THROW(load_measurement_ranks(connection, id), WrongValue);
}

TEST_F(MeasurementSamplesTest, AreDeletedWithTheirRun) {
  stored("zz_last", "{}", {1}, {1, 2});
  Statement(connection, "DELETE FROM run").run();
  EXPECT_THAT(first("SELECT (SELECT count(*) FROM measurement_samples) + "
                    "(SELECT count(*) FROM measurement_rank)"),
              ElementsAre(Cell(std::int64_t{0})));
}

}  // namespace
}  // namespace db::measurement_samples_test
