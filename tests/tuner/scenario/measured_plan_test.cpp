#include "tuner/scenario/measured_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tuner/planners/pipeline/pipeline_schedule.h"

namespace tuner::measured_plan_test {
namespace {

moe::Schedule in_chunks(int chunks) {
  return {"test", {moe::PipelineSplit{1, moe::Phase::forward, chunks}}};
}

/// The fastest of 1, 2 and 3 chunks.
moe::Schedule fastest(const TrainingSoFar& so_far) {
  const MeasureSchedule& seconds = so_far.measure;
  moe::Schedule best = in_chunks(1);
  double best_s = seconds(best);
  for (const int chunks : {2, 3}) {
    const double chunks_s = seconds(in_chunks(chunks));
    if (chunks_s < best_s) best = in_chunks(chunks);
    best_s = std::min(best_s, chunks_s);
  }
  return best;
}

TEST(MeasuredPlan, RunsWhatIsAskedForAndThenWhatWasChosen) {
  MeasuredPlan plan(fastest, 3);
  moe::Schedule in_force = in_chunks(7);
  std::vector<int> chunks;  // of every iteration
  for (int iteration = 0; iteration < 16; ++iteration) {
    const int now = degrees_of(in_force).forward;
    chunks.push_back(now);
    const bool first = iteration > 0 && chunks[chunks.size() - 2] != now;
    // Two chunks are best, and an iteration's memory is new under a new schedule.
    if (auto next = plan.after({}, now == 2 ? (first ? 100 : 1) : 2)) in_force = *next;
    EXPECT_EQ(plan.is_done(), iteration >= 12);
  }
  EXPECT_EQ(chunks, (std::vector<int>{7, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 2, 2, 2}));
  EXPECT_EQ(plan.measured(), 3);
}

TEST(MeasuredPlan, EndsWithATrainingThatEndsBeforeItAndWithAPlannerThatThrows) {
  {
    MeasuredPlan abandoned(fastest, 2);
    EXPECT_TRUE(abandoned.after({}, 1));
  }
  MeasuredPlan failing(
      [](const TrainingSoFar& so_far) -> moe::Schedule {
        so_far.measure(in_chunks(2));
        throw std::invalid_argument("no plan");
      },
      1);
  EXPECT_TRUE(failing.after({}, 1));
  EXPECT_FALSE(failing.after({}, 1)) << "the first is left out";
  EXPECT_THROW(failing.after({}, 1), std::invalid_argument);
}

TEST(MeasuredPlan, OfAPlannerThatAsksNothingIsThereAfterOneIteration) {
  MeasuredPlan plan([](const TrainingSoFar&) { return in_chunks(4); }, 2);
  EXPECT_EQ(plan.after({}, 1), in_chunks(4));
  EXPECT_TRUE(plan.is_done());
  EXPECT_FALSE(plan.after({}, 1));
}

}  // namespace
}  // namespace tuner::measured_plan_test
