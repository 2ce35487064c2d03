#include "viewer/panels/fit_charts.h"

#include <gtest/gtest.h>

#include "tests/viewer/lanes.h"

namespace viewer::fit_charts_test {
namespace {

db::Fit fit_of(const std::string& op) {
  db::Fit fit;
  fit.op = op;
  fit.device = "cpu";
  fit.ranks = 2;
  fit.unit = "byte";
  fit.alpha_s = 1e-3;
  fit.beta_s_per_unit = 1e-6;
  return fit;
}

db::Measurement measurement(const std::string& op, std::int64_t bytes, double time_s) {
  db::Measurement row;
  row.op = op;
  row.device = "cpu";
  row.ranks = 2;
  row.bytes = bytes;
  row.time_s = time_s;
  return row;
}

TEST(FitCharts, SamplesAreTheMeasurementsOfTheSameOpDeviceAndRanks) {
  db::Measurement elsewhere = measurement("all_to_all", 100, 1);
  elsewhere.ranks = 4;
  const std::vector<FitSample> samples = measured_samples(
      fit_of("all_to_all"), {measurement("all_to_all", 1000, 2e-3), elsewhere,
                             measurement("all_reduce", 1000, 1), measurement("all_to_all", 0, 1)});
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].units, 1000);
  EXPECT_DOUBLE_EQ(fitted_s(fit_of("all_to_all"), 1000), 2e-3);
}

TEST(FitCharts, SizesOfAStackAreThoseOfItsMeasuredSpans) {
  const db::Connection connection = db::open_writer(":memory:");
  Session session{connection};
  Timeline timeline = hand_timeline({{0, "inter_node", "all_to_all", 0, 1},
                                     {0, "compute", "linear", 0, 1},
                                     {1, "inter_node", "all_to_all", 0, 2}});
  for (Lane& lane : timeline.lanes) {
    for (LaneSpan& span : lane.spans) span.bytes = 4096;
  }
  session.timelines.emplace(1, std::move(timeline));
  const std::vector<FitSample> samples = stacked_samples(fit_of("all_to_all[2 ranks]"), session);
  ASSERT_EQ(samples.size(), 1U) << "one size, of two ranks";
  EXPECT_EQ(samples[0].units, 4096);
  EXPECT_EQ(samples[0].seconds, 1);
}

TEST(FitCharts, InterferenceKeepsTheNewestOfEachPair) {
  db::Measurement newest = measurement("interference", 0, 2);
  newest.parameters_json = R"({"activity": "gemm", "beside": "copy", "alone_s": 1})";
  db::Measurement older = newest;
  older.time_s = 4;
  const InterferenceMatrix matrix = interference_matrix({newest, older, measurement("gemm", 1, 1)});
  ASSERT_EQ(matrix.activities, (std::vector<std::string>{"copy", "gemm"}));
  EXPECT_EQ(matrix.speed[1][0], 0.5);
  EXPECT_FALSE(matrix.speed[0][1]);
}

}  // namespace
}  // namespace viewer::fit_charts_test
