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

TEST(FitCharts, SizesOfAStackAreThoseOfItsMeasuredSpans) {
  const db::Connection connection = db::open_writer(":memory:");
  Session session{connection};
  Timeline timeline = hand_timeline({{0, "inter_node", "all_to_all", 0, 1},
                                     {0, "compute", "linear", 0, 1},
                                     {1, "inter_node", "all_to_all", 0, 2}});
  for (Lane& lane : timeline.lanes) {
    for (LaneSpan& span : lane.spans) span.bytes = 4096;
  }
  for (Lane& lane : timeline.lanes) {
    if (lane.rank == 1) lane.spans.front().waiting_s = 1.5F;
  }
  session.timelines.emplace(1, std::move(timeline));
  const std::vector<FitSample> samples = stacked_samples(fit_of("all_to_all[2 ranks]"), session);
  ASSERT_EQ(samples.size(), 1U) << "one size, of two ranks";
  EXPECT_EQ(samples[0].units, 4096);
  EXPECT_EQ(samples[0].seconds, 0.5) << "the shortest, without its waiting";
}

}  // namespace
}  // namespace viewer::fit_charts_test
