#include "db/timeline/typical.h"

#include <gtest/gtest.h>

namespace db {
namespace {

TimelineInfo lasting(std::int64_t id, int iteration, double duration_s,
                     const char* kind = kMeasured) {
  TimelineInfo info;
  info.id = id;
  info.kind = kind;
  info.iteration = iteration;
  info.duration_s = duration_s;
  return info;
}

class TypicalTimeline : public ::testing::Test {
 protected:
  std::int64_t typical(std::optional<double> figure_s = {}) const {
    std::vector<const TimelineInfo*> all;
    for (const TimelineInfo& one : timelines) all.push_back(&one);
    const TimelineInfo* found = typical_timeline(all, figure_s);
    return found == nullptr ? 0 : found->id;
  }

  std::vector<TimelineInfo> timelines{lasting(1, 1, 5),  // warms up
                                      lasting(2, 9, 1.0), lasting(3, 10, 1.2), lasting(4, 11, 9.0),
                                      lasting(5, 0, 1.1, kPredicted)};
};

TEST_F(TypicalTimeline, HasTheMedianDurationOfThoseMeasuredAfterWarmUp) { EXPECT_EQ(typical(), 3); }

TEST_F(TypicalTimeline, IsTheOneNearestToTheFigureOfItsTrial) {
  EXPECT_EQ(typical(0.9), 2);
  EXPECT_EQ(typical(6), 4) << "and not the one that warmed up";
}

TEST_F(TypicalTimeline, IsTheLastOfEquals) {
  timelines.push_back(lasting(6, 12, 1.2));
  EXPECT_EQ(typical(1.2), 6);
}

TEST_F(TypicalTimeline, OfARunThatOnlyWarmedUpIsMeasuredAllTheSame) {
  timelines = {lasting(1, 1, 5), lasting(2, 0, 1, kPredicted)};
  EXPECT_EQ(typical(), 1);
  timelines.erase(timelines.begin());
  EXPECT_EQ(typical(), 2) << "a prediction where nothing was measured";
  timelines.clear();
  EXPECT_EQ(typical(), 0);
}

}  // namespace
}  // namespace db
