#include "moe/train/rank_clocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace moe::rank_clocks_test {
namespace {

/// Two ranks that meet in barriers. Rank 1's clock shows `ahead_s` more and runs fast by `drift`.
struct TwoClocks {
  double ahead_s = 0, drift = 0;
  RankClocks clocks{std::vector<RankInfo>(2)};

  double of_rank_1(double true_s) const { return true_s * (1 + drift) + ahead_s; }
  /// Rank 0 enters at `at_s`, the other `late_s` after it; both leave a microsecond later.
  void meet(double at_s, double late_s) {
    const double left_s = at_s + std::max(late_s, 0.0) + 1e-6;
    const std::vector<BarrierTimes> times{{at_s, left_s},
                                          {of_rank_1(at_s + late_s), of_rank_1(left_s)}};
    clocks.follow(times);
  }
  double error_s(double true_s) const {
    return std::abs(clocks.on_rank_0(1, of_rank_1(true_s)) - true_s);
  }
};

TEST(RankClocks, FindAnOffsetThatNobodyMeasured) {
  for (const double ahead_s : {1000.0, -1000.0, 1e-3}) {
    TwoClocks two{.ahead_s = ahead_s};
    two.meet(5, 0);
    EXPECT_LT(two.error_s(5.01), 2e-6);
    EXPECT_LT(two.clocks.error_s(1), 2e-6);
    EXPECT_EQ(two.clocks.on_rank_0(0, 7), 7) << "its own clock";
  }
}

TEST(RankClocks, FollowClocksThatDriftApart) {
  for (const double drift : {0.02, -0.02, 5e-5}) {
    TwoClocks two{.ahead_s = 0.5, .drift = drift};
    for (int i = 0; i < 1000; ++i) two.meet(1 + i * 4e-3, i % 3 * 1e-5);
    EXPECT_LT(two.error_s(5), 3e-5) << "after 0.08 s of drift";
    EXPECT_LT(two.error_s(5.5), 5e-5) << "within a long iteration, by the drift";
  }
}

TEST(RankClocks, KeepAnExactOffsetThatALongBarrierAllows) {
  std::vector<RankInfo> ranks(2);
  ranks[1].clock.offset_s = 1e-3;
  RankClocks clocks(ranks);
  const std::vector<BarrierTimes> times{{2.0, 2.5}, {1.999, 2.499}};
  clocks.follow(times);
  EXPECT_DOUBLE_EQ(clocks.on_rank_0(1, 3), 3.001);
  EXPECT_DOUBLE_EQ(clocks.error_s(1), 0.5) << "what that barrier allows";
}

TEST(RankClocks, ABarrierLastsUntilAllHaveEntered) {
  std::vector<BarrierTimes> of_ranks(3);
  run_local_ranks(3, [&](Communicator& world) {
    of_ranks[static_cast<std::size_t>(world.rank)] = timed_barrier(world, 60);
  });
  for (const BarrierTimes& one : of_ranks) {
    for (const BarrierTimes& other : of_ranks) EXPECT_LE(one.entered_s, other.left_s);
  }
}

}  // namespace
}  // namespace moe::rank_clocks_test
