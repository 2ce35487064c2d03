#include "viewer/model/level_of_detail.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace viewer::level_of_detail_test {
namespace {

struct Folded {
  double begin_s, end_s;
  std::size_t first, count;
  bool operator==(const Folded&) const = default;
};

// The definition, span by span: thin neighbours that start in the same bucket of 3 px are one mark.
std::vector<Folded> fold_by_hand(const Lane& lane, TimeRange visible, double px_s) {
  const double bucket_s = kFoldBelow_px * px_s;
  std::vector<Folded> runs;
  double last_bucket = -1;
  bool open = false;
  for (std::size_t i = 0; i < lane.spans.size(); ++i) {
    const LaneSpan& span = lane.spans[i];
    const bool thin = span.duration_s() < bucket_s;
    const double bucket = std::floor(span.start_s / bucket_s);
    if (thin && open && bucket == last_bucket) {
      runs.back().end_s = span.end_s;
      ++runs.back().count;
    } else {
      runs.push_back({span.start_s, span.end_s, i, 1});
    }
    open = thin;
    last_bucket = bucket;
  }
  std::erase_if(runs, [&](const Folded& run) {
    return run.end_s <= visible.begin_s || run.begin_s >= visible.end_s;
  });
  return runs;
}

Lane random_lane(std::mt19937& random, std::size_t spans) {
  std::uniform_real_distribution<double> exponent(-7, -3), gap(0, 1);
  Lane lane;
  double at_s = 0;
  for (std::size_t i = 0; i < spans; ++i) {
    at_s += gap(random) < 0.5 ? 0 : std::pow(10, exponent(random));
    const double end_s = at_s + std::pow(10, exponent(random));
    lane.spans.push_back({at_s, end_s, static_cast<std::int32_t>(i % 7), 0, 0});
    at_s = end_s;
  }
  lane.busy_before_s = {0};
  for (const LaneSpan& span : lane.spans) {
    lane.busy_before_s.push_back(lane.busy_before_s.back() + span.duration_s());
  }
  return lane;
}

TEST(LevelOfDetail, FoldsAsTheDefinitionDoes) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const Lane lane = random_lane(random, 1 + static_cast<std::size_t>(round) % 400);
    const double length_s = lane.spans.back().end_s;
    std::uniform_real_distribution<double> share(0, 1);
    const double begin_s = share(random) * length_s;
    const TimeRange visible{begin_s, begin_s + (length_s - begin_s) * share(random) + 1e-7};
    const double px_s = visible.length_s() / (50 + 900 * share(random));
    std::vector<Folded> folded;
    for (const Mark& mark : fold(lane, visible, px_s)) {
      // A run whose last span ends before the view may be drawn all the same: it is clipped away.
      if (mark.end_s > visible.begin_s) {
        folded.push_back({mark.begin_s, mark.end_s, mark.first, mark.count});
      }
    }
    ASSERT_EQ(folded, fold_by_hand(lane, visible, px_s)) << "round " << round;
  }
}

TEST(LevelOfDetail, CountsAndBusyTimeAreThoseOfTheSpans) {
  std::mt19937 random(6);
  const Lane lane = random_lane(random, 5000);
  const TimeRange all{0, lane.spans.back().end_s};
  std::size_t count = 0;
  double busy_s = 0;
  for (const Mark& mark : fold(lane, all, all.length_s() / 300)) {
    EXPECT_EQ(mark.first, count);
    count += mark.count;
    busy_s += mark.busy_s;
  }
  EXPECT_EQ(count, lane.spans.size());
  EXPECT_NEAR(busy_s, lane.busy_before_s.back(), 1e-9);
}

TEST(LevelOfDetail, MarksAreBoundedByPixelsHoweverManySpans) {
  std::mt19937 random(7);
  const Lane lane = random_lane(random, 200000);
  const TimeRange all{0, lane.spans.back().end_s};
  // A bucket of 3 px holds at most one run and one wide span.
  EXPECT_LE(fold(lane, all, all.length_s() / 900).size(), 2 * 900 / 3 + 2U);
}

TEST(LevelOfDetail, PanningByAPixelLeavesRunsWhole) {
  std::mt19937 random(8);
  const Lane lane = random_lane(random, 3000);
  const double length_s = lane.spans.back().end_s, px_s = length_s / 1000;
  const std::vector<Mark> before = fold(lane, {length_s * 0.2, length_s * 0.6}, px_s);
  const std::vector<Mark> after = fold(lane, {length_s * 0.2 + px_s, length_s * 0.6 + px_s}, px_s);
  for (const Mark& mark : after) {
    if (mark.begin_s >= length_s * 0.6) continue;
    EXPECT_NE(std::find(before.begin(), before.end(), mark), before.end());
  }
}

TEST(LevelOfDetail, AWideViewDrawsEverySpanByItself) {
  Lane lane;
  lane.spans = {{0, 1, 0, 0, 0}, {1, 2, 1, 0, 0}, {4, 5, 2, 0, 0}};
  lane.busy_before_s = {0, 1, 2, 3};
  const std::vector<Mark> marks = fold(lane, {0, 5}, 0.01);
  ASSERT_EQ(marks.size(), 3U);
  EXPECT_EQ(marks[2].op, 2);
  EXPECT_EQ(fold(lane, {1.5, 3}, 0.01).size(), 1U);
  EXPECT_TRUE(fold(lane, {2.5, 3}, 0.01).empty());
}

}  // namespace
}  // namespace viewer::level_of_detail_test
