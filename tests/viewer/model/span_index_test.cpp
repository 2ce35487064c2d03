#include "viewer/model/span_index.h"

#include <gtest/gtest.h>

#include "tests/viewer/lanes.h"
#include "tests/viewer/random_timeline.h"

namespace viewer::span_index_test {
namespace {

TEST(SpanIndex, HoldsEverySpanUnderItsOp) {
  const Timeline timeline = random_timeline(1);
  const SpanIndex index = index_spans(timeline);
  std::size_t spans = 0;
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    for (const SpanPosition at : index.of(static_cast<std::int32_t>(op))) {
      EXPECT_EQ(span_at(timeline, at).op, static_cast<std::int32_t>(op));
      ++spans;
    }
  }
  EXPECT_EQ(spans, timeline.spans);
}

TEST(SpanIndex, ExposedIsWhatNoComputationOfTheRankCovers) {
  const Timeline timeline = hand_timeline({{0, "compute", "linear", 0, 2},
                                           {0, "compute", "linear", 3, 4},
                                           {0, "inter_node", "all_to_all", 1, 6},
                                           {1, "compute", "linear", 0, 9}});
  const SpanPosition exchange{1, 0};
  EXPECT_EQ(exposed_s(timeline, exchange), 3);  // 2-3 and 4-6
  const SpanIndex index = index_spans(timeline);
  EXPECT_EQ(exposed_s(timeline, index, exchange, {0, 2.5}), 0.5);
  EXPECT_EQ(exposed_s(timeline, {0, 0}), 0) << "a computation";
}

TEST(SpanIndex, WithAndWithoutTheIndexTheExposedPartIsTheSame) {
  const Timeline timeline = random_timeline(8);
  const SpanIndex index = index_spans(timeline);
  for (const SpanPosition at : index.spans) {
    const LaneSpan& span = span_at(timeline, at);
    EXPECT_NEAR(exposed_s(timeline, at), exposed_s(timeline, index, at, {span.start_s, span.end_s}),
                1e-12);
  }
}

}  // namespace
}  // namespace viewer::span_index_test
