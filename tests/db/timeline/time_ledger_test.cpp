#include "db/timeline/time_ledger.h"

#include <gtest/gtest.h>

#include <random>

#include "db/timeline/summary.h"
#include "tests/db/timeline/lanes.h"

namespace db::time_ledger_test {
namespace {

// Spans of all activities on two ranks, with gaps and overlaps between streams.
std::vector<HandSpan> random_spans(unsigned seed, int count) {
  std::mt19937 random(seed);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  std::vector<HandSpan> spans;
  for (int rank = 0; rank < 2; ++rank) {
    for (const char* stream : {"compute", "inter_node", "copy", "host"}) {
      double at_s = uniform(0, 1);
      for (int i = 0; i < count; ++i) {
        const double end_s = at_s + uniform(0, 1);
        spans.push_back({rank, stream, "op", at_s, end_s});
        at_s = end_s + (random() % 3 == 0 ? 0 : uniform(0, 0.7));
      }
    }
  }
  return spans;
}

// The same figures from all spans.
RankStatistics summed(const Timeline& timeline, int rank, TimeInterval range) {
  ActivityIntervals intervals;
  for (const Lane& lane : timeline.lanes) {
    if (lane.rank != rank) continue;
    for (const LaneSpan& span : lane.spans) {
      add_span(intervals, timeline.counted[static_cast<std::size_t>(span.op)], span.interval(),
               span.waiting_s);
    }
  }
  return rank_statistics(rank, intervals, range);
}

TEST(TimeLedger, GivesWhatTheSpansOfAnyRangeAddUpTo) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Timeline timeline = hand_timeline(random_spans(seed, 900));
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> moment(-10, timeline.extent.end_s + 10);
    for (int i = 0; i < 200; ++i) {
      TimeInterval range{moment(random), moment(random)};
      if (range.end_s < range.begin_s) std::swap(range.begin_s, range.end_s);
      for (const TimeLedger& ledger : timeline.ledgers) {
        const RankStatistics given = statistics(timeline, ledger, range);
        const RankStatistics wanted = summed(timeline, ledger.rank, range);
        EXPECT_EQ(given.rank, ledger.rank);
        EXPECT_NEAR(given.computation_s, wanted.computation_s, 1e-9);
        EXPECT_NEAR(given.communication_s, wanted.communication_s, 1e-9);
        EXPECT_NEAR(given.exposed_s, wanted.exposed_s, 1e-9);
        EXPECT_NEAR(given.exposed_waiting_s, wanted.exposed_waiting_s, 1e-9);
        EXPECT_NEAR(given.copy_s, wanted.copy_s, 1e-9);
        EXPECT_NEAR(given.host_s, wanted.host_s, 1e-9);
        EXPECT_NEAR(given.idle_s, wanted.idle_s, 1e-9);
      }
    }
  }
}

TEST(TimeLedger, TakesLessThanAByteASpan) {
  const Timeline timeline = hand_timeline(random_spans(1, 5000));
  for (const TimeLedger& ledger : timeline.ledgers) {
    const std::size_t bytes = ledger.moments_s.size() * (sizeof(double) + sizeof(RankStatistics));
    EXPECT_LE(bytes, 4U * 5000U);
  }
}

}  // namespace
}  // namespace db::time_ledger_test
