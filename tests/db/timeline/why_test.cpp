#include "db/timeline/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/timeline/lanes.h"
#include "tests/db/timeline/random_timeline.h"

namespace db::why_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Two ranks that exchange: rank 1 computes for longer and comes last.
Timeline exchange() {
  TimelineOp gate{0, 0, "gate", "gate", "computation", "compute", "forward", 1};
  TimelineOp dispatch{0, 1, "dispatch", "all_to_all", "communication", "inter_node", "forward",
                      1, 0, 1,          "expert"};
  TimelineOp experts{0, 2, "experts", "expert_linear", "computation", "compute", "forward", 1};
  TimelineInfo info;
  info.id = 1;
  info.kind = kMeasured;
  info.duration_s = 6;
  Timeline timeline = build_timeline(info, {gate, dispatch, experts},
                                     {{1, 0, 0, 0, 1, 0, 0},
                                      {1, 0, 1, 1, 4, 100, 0, 2},
                                      {1, 0, 2, 5, 1, 0, 0},
                                      {1, 1, 0, 0, 3, 0, 0},
                                      {1, 1, 1, 3, 2, 100, 0, 0},
                                      {1, 1, 2, 5, 1, 0, 0}});
  link_ops(timeline, {{1, 1, 0}, {1, 2, 1}}, {{1, "expert", 0, 0}, {1, "expert", 1, 0}});
  return timeline;
}

TEST(Why, SaysWhatWasExposedWhoWasWaitedForAndWhatThePathIsMadeOf) {
  const Timeline timeline = exchange();
  const Why found = why(timeline, false);
  EXPECT_THAT(
      exposure_text(timeline, "tutel", found),
      ElementsAre(
          "In the measured iteration of tutel that took 6.00 s, a rank computed for 3.00 s (50.0%) "
          "and communicated for 3.00 s, 3.00 s of it while it computed nothing: that is exposed. "
          "Of that 2.00 s was transfer, 1.00 s waiting for late ranks. For 0 s (0.0%) nothing ran.",
          "dispatch (forward, layer 1): 3.00 s of its 3.00 s exposed. 1.00 s of that passed before "
          "the last rank had come: mostly rank 1, which ran gate meanwhile. What is computed after "
          "it is experts."));
  EXPECT_THAT(path_and_late_text(found),
              ElementsAre("Its critical path has 3 steps, which make up 6.00 s: 50.0% gate, 33.3% "
                          "all to all, 16.7% expert linear.",
                          "Rank 1 was waited for most: others waited 2.00 s for it, all together, "
                          "in the 1 of its 1 communications that it began last."));
}

TEST(Why, OfWhatIsNotKnownNothingIsSaid) {
  const Timeline timeline = hand_timeline({{0, "compute", "linear", 0, 1}});
  const Why found = why(timeline, false);
  EXPECT_THAT(path_and_late_text(found), IsEmpty());
  EXPECT_THAT(exposure_text(timeline, "x", found), ElementsAre(HasSubstr("computed for 1.00 s")));
  EXPECT_THAT(exposure_text(Timeline{}, "x", why(Timeline{}, false)), IsEmpty());
}

TEST(Why, TellsWhatMakesTheDifference) {
  Timeline slower = exchange();
  for (Lane& lane : slower.lanes) {
    if (lane.stream == "compute") lane.spans.back().end_s += 2;
  }
  slower.extent.end_s += 2;
  EXPECT_EQ(difference_text(differences(exchange(), slower)),
            "The second took 2.00 s longer than the first: +2.00 s expert linear.");
  EXPECT_THAT(difference_text(differences(slower, exchange())),
              StartsWith("The second took 2.00 s less than the first: -2.00 s expert linear."));
  EXPECT_EQ(difference_text(differences(slower, slower)), "Both took as long.");
}

TEST(Why, ThePathAndTheTimesAddUpToTheDuration) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const Timeline timeline = random_timeline(seed);
    const Why found = why(timeline, false);
    double path_s = 0;
    for (const PathPart& part : found.path) path_s += part.seconds;
    EXPECT_NEAR(path_s, timeline.extent.length_s(), 1e-9);
    double exposed_s = 0;
    for (const ExposedOp& op : found.exposed) exposed_s += op.exposed_s;
    EXPECT_NEAR(exposed_s, found.summary.mean.exposed_s, 1e-9) << "one stream communicates";
  }
}

}  // namespace
}  // namespace db::why_test
