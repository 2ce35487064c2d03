#include "moe/communicator/clock_offset.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <latch>
#include <vector>

#include "moe/communicator/communicator.h"

namespace moe::clock_offset_test {
namespace {

double machine_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// How far the clock of a rank is ahead of the machine's: far apart, and in no order.
double ahead_s(int rank) { return 1000.0 * (rank * 7 % 5) - 300.0 * rank; }

TEST(ClockOffset, AddedToTheTimeOfAnyOfAnyNumberOfRanksGivesThatOfRank0) {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 12}) {
    run_local_ranks(ranks, [&](Communicator& world) {
      const double mine_s = ahead_s(world.rank);
      const ClockOffset clock = measure_clock_offset(
          world, {.rounds = 4, .clock_s = [mine_s] { return machine_clock_s() + mine_s; }});
      ASSERT_TRUE(is_known(clock)) << "rank " << world.rank << " of " << ranks;
      EXPECT_LE(std::abs(clock.offset_s - (ahead_s(0) - mine_s)), clock.error_s + 1e-9)
          << "rank " << world.rank << " of " << ranks;
    });
  }
}

TEST(ClockOffset, OfOneRankIsNone) {
  run_local_ranks(1, [](Communicator& world) {
    const ClockOffset clock = measure_clock_offset(world);
    EXPECT_EQ(clock.offset_s, 0);
    EXPECT_EQ(clock.error_s, 0);
  });
}

// Rank 1 is silent until the others have ended the comparison. Rank 3 would have asked it.
TEST(ClockOffset, OfARankThatDoesNotAnswerIsUnknownAndTheRanksGoOn) {
  std::latch others_have_ended(4);
  run_local_ranks(5, [&](Communicator& world) {
    const auto clock_s = [&] {
      if (world.rank == 1) others_have_ended.wait();
      return machine_clock_s();
    };
    const ClockOffset clock =
        measure_clock_offset(world, {.time_limit_s = 6, .rounds = 2, .clock_s = clock_s});
    if (world.rank != 1) others_have_ended.count_down();
    if (world.rank == 1 || world.rank == 3) {
      EXPECT_FALSE(is_known(clock)) << "rank " << world.rank;
      EXPECT_EQ(clock.offset_s, 0);
    }
    std::vector<std::int32_t> all(5);
    const std::int32_t mine = world.rank;
    world.all_gather(&mine, all.data(), 1, DType::i32, {.what = "what follows"});
    EXPECT_EQ(all, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  });
}

}  // namespace
}  // namespace moe::clock_offset_test
