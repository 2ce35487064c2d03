#include "viewer/model/node_activity.h"

#include <gtest/gtest.h>

#include <vector>

#include "db/timeline/time_ledger.h"
#include "tests/viewer/lanes.h"
#include "viewer/model/timeline.h"

namespace viewer::node_activity_test {
namespace {

NodeActivity of_ranks(const Timeline& timeline, TimeParts parts) {
  NodeActivity activity;
  activity.parts = parts;
  for (const TimeLedger& ledger : timeline.ledgers) add_rank(activity, timeline, ledger);
  return activity;
}

// Each part against the statistics of that range, which read the spans.
void expect_statistics(const Timeline& timeline, const NodeActivity& activity, double tolerance_s) {
  for (std::size_t i = 0; i < activity.parts.count; ++i) {
    PartTime wanted;
    const TimeRange part = activity.parts.of(i);
    for (const TimeLedger& ledger : timeline.ledgers) {
      const db::RankStatistics rank = statistics(timeline, ledger, part);
      wanted.computation_s += static_cast<float>(rank.computation_s);
      wanted.exposed_s += static_cast<float>(rank.exposed_s);
      wanted.busy_s += static_cast<float>(part.length_s() - rank.idle_s);
    }
    EXPECT_NEAR(activity.times[i].computation_s, wanted.computation_s, tolerance_s) << i;
    EXPECT_NEAR(activity.times[i].exposed_s, wanted.exposed_s, tolerance_s) << i;
    EXPECT_NEAR(activity.times[i].busy_s, wanted.busy_s, tolerance_s) << i;
  }
}

TEST(NodeActivity, PartsHaveTheStatisticsOfTheirRange) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Timeline timeline = random_timeline(seed);
    for (const double part_s : {timeline.extent.length_s() / 7, timeline.extent.length_s() / 300}) {
      expect_statistics(timeline, of_ranks(timeline, parts_around(timeline.extent, part_s)), 1e-6);
    }
  }
}

// Far more spans than parts: read from the ledger, of which each moment is some spans away.
TEST(NodeActivity, OfManySpansTheSumsOfTheLedgerTellAsMuch) {
  std::vector<HandSpan> spans;
  for (int i = 0; i < 40000; ++i) {
    const double begin_s = i * 1e-3;
    spans.push_back({0, "compute", "linear", begin_s, begin_s + 6e-4});
    spans.push_back({0, "inter_node", "all_to_all", begin_s + 4e-4, begin_s + 8e-4});
  }
  const Timeline timeline = hand_timeline(spans);
  const NodeActivity activity = of_ranks(timeline, parts_around({0, 40}, 1.0));
  expect_statistics(timeline, activity, 1e-2);
  double computation_s = 0, exposed_s = 0;
  for (const PartTime& part : activity.times) {
    computation_s += static_cast<double>(part.computation_s);
    exposed_s += static_cast<double>(part.exposed_s);
  }
  EXPECT_NEAR(computation_s, 24, 1e-3) << "also of the spans after the last moment";
  EXPECT_NEAR(exposed_s, 8, 1e-3);
}

TEST(NodeActivity, PartsStayWhereTheyAreWhileTheViewPans) {
  const TimeParts a = parts_around({1, 2}, 0.01), b = parts_around({1.003, 2.003}, 0.01);
  EXPECT_LE(a.all().begin_s, 0.5 + 1e-9);
  EXPECT_GE(a.all().end_s, 2.5 - 1e-9);
  const auto shift = static_cast<std::size_t>(b.first - a.first);
  EXPECT_DOUBLE_EQ(a.of(shift).begin_s, b.of(0).begin_s);
}

}  // namespace
}  // namespace viewer::node_activity_test
