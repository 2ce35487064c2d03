#include "tuner/planners/fastermoe/fastermoe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/tuner/planners/planned.h"
#include "tests/tuner/planners/skewed_situation.h"
#include "tuner/planners/situation/situation_costs.h"

namespace tuner::fastermoe_test {
namespace {

std::size_t experts_sent(const moe::Schedule& schedule) {
  std::size_t experts = 0;
  for (const auto& decision : moe::decisions_of<moe::ReplicateExperts>(schedule)) {
    experts += decision.placement.replicas.size();
  }
  return experts;
}

TEST(FasterMoe, AsReleasedExchangesByPairsOfRanksAndIsNoFasterThanThePlanThatTriesIt) {
  PlannerOptions released;
  released.asked[kReleasedShadows.key] = 1;
  std::size_t more = 0;
  for (const char* routing : {"uniform", "zipf:0.5", "zipf:1.2", "zipf:2"}) {
    for (const double slower : {0.1, 1.0, 10.0}) {
      test::SkewedSituation skewed(moe::Layout{1, 8, 1}, routing);
      skewed.costs.fits["gemm"].beta_s_per_unit *= slower;
      const moe::Schedule theirs = test::planned("fastermoe", skewed.situation, released);
      const auto cuts = moe::decisions_of<moe::PipelineSplit>(theirs);
      EXPECT_EQ(cuts.size(), 6u);
      for (const moe::PipelineSplit& cut : cuts) {
        EXPECT_EQ(cut.ranks_per_group, 2);
        EXPECT_EQ(cut.chunks, 4);
      }
      const moe::Schedule ours = test::planned("fastermoe", skewed.situation);
      const moe::Schedule counted = fastermoe_candidates(skewed.situation, {}).at(0).schedule;
      EXPECT_GE(experts_sent(theirs), experts_sent(counted));
      more += experts_sent(theirs) - experts_sent(counted);
      const double theirs_s = simulated_s(skewed.situation, theirs);
      const double ours_s = simulated_s(skewed.situation, ours);
      const std::string line = fmt::format(
          "{}, experts {} times as slow: as released {} shadows, {:.2f} of the time with ours, {}",
          routing, slower, experts_sent(theirs), theirs_s / ours_s, experts_sent(ours));
      fmt::print("{}\n", line);
      EXPECT_GE(theirs_s, ours_s * (1 - 1e-9)) << line;
    }
  }
  EXPECT_GT(more, 0u) << "the rule of the code counts no gradients";
}

}  // namespace
}  // namespace tuner::fastermoe_test
