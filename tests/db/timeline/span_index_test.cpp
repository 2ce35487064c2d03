#include "db/timeline/span_index.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/db/timeline/lanes.h"
#include "tests/db/timeline/random_timeline.h"

namespace db::span_index_test {
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
  for (const auto& of_op : index.spans) {
    for (const SpanPosition at : of_op) {
      const LaneSpan& span = span_at(timeline, at);
      EXPECT_NEAR(exposed_s(timeline, at),
                  exposed_s(timeline, index, at, {span.start_s, span.end_s}), 1e-12);
    }
  }
}

TEST(SpanIndex, MadeStepByStepIsTheSame) {
  std::vector<HandSpan> spans;  // two lanes of computation that overlap, of many steps each
  for (int i = 0; i < 40000; ++i) {
    spans.push_back({0, "compute", "linear", i * 1.0, i + 0.5});
    spans.push_back({0, "host", "linear", i + 0.25, i + 0.75, "computation"});
  }
  const Timeline timeline = hand_timeline(spans);
  const SpanIndex whole = index_spans(timeline);
  SpanIndexBuilder builder;
  int frames = 1;
  while (!builder.go_on(timeline, [] { return true; })) ++frames;
  const SpanIndex index = builder.take();
  EXPECT_GT(frames, 8);
  EXPECT_EQ(index.spans, whole.spans);
  EXPECT_EQ(index.computation, whole.computation);
  ASSERT_EQ(index.computation.at(0).size(), 40000U);
  EXPECT_EQ(index.computation.at(0)[7], (TimeInterval{7, 7.75}));
}

}  // namespace
}  // namespace db::span_index_test
