// The case table of communicator_cases.h on the ranks of an MPI job: started by mpirun, see
// CMakeLists.txt. Prints what differs on each rank and exits with 1 if anything did.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "communicator_cases.h"
#include "moe/communicator/communicator.h"

namespace {

moe::Communicator* world = nullptr;

TEST(MpiCommunicator, CollectivesGiveWhatOneRankWorksOut) {
  moe::cases::check_table(*world, moe::cases::small_counts);
  moe::cases::check_table(*world, moe::cases::large_counts);
}

TEST(MpiCommunicator, TwoCommunicatorsServeTwoThreadsAtOnce) {
  moe::cases::check_two_streams(*world);
}

TEST(MpiCommunicator, CountsTheBytesThatEachCollectiveStates) {
  moe::cases::check_sent_bytes(*world, moe::cases::Ranks::processes);
}

TEST(MpiCommunicator, TimeLimitNamesWhoWasWaitedFor) { moe::cases::check_time_limit(*world); }

TEST(MpiCommunicator, TimeLimitOfAllToAllNamesThePendingPeersAlone) {
  if (world->size < 3) GTEST_SKIP() << "needs 3 ranks";
  // Rank 0 expects a row from everybody; rank 2 alone does not send.
  std::vector<int> all(world->size);
  for (int rank = 0; rank < world->size; ++rank) all[rank] = rank;
  const auto group = world->split(all);
  std::vector<std::byte> from(4), to(4 * world->size);
  if (world->rank == 0) {
    std::vector<moe::Segment> receive;
    for (int peer = 1; peer < world->size; ++peer) receive.push_back({peer, peer, 1});
    try {
      group->all_to_all_v(from.data(), {}, to.data(), receive, 4,
                          moe::cases::call("dispatch", 0.2));
      ADD_FAILURE() << "no time limit";
    } catch (const std::runtime_error& limit) {
      EXPECT_STREQ(limit.what(), "rank 0 waited 0.2 s for rank 2 in dispatch");
    }
  } else if (world->rank != 2) {
    const moe::Segment send{0, 0, 1};
    group->all_to_all_v(from.data(), {&send, 1}, to.data(), {}, 4, moe::cases::call("dispatch"));
  }
  world->barrier(moe::cases::call("end"));
}

TEST(MpiCommunicator, ClocksOfProcessesOfOneHostAreOneClock) {
  const moe::ClockOffset clock = moe::measure_clock_offset(*world);
  EXPECT_LE(std::abs(clock.offset_s), clock.error_s);
  EXPECT_LT(clock.error_s, 0.1);
}

TEST(MpiCommunicator, WorldsAreApart) {
  const auto other = moe::make_mpi_world();
  float one = 1;
  other->all_reduce(&one, 1, moe::DType::f32, moe::cases::call("other world"));
  EXPECT_EQ(one, static_cast<float>(world->size));
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto mpi = moe::make_mpi_world();
  world = mpi.get();
  if (mpi->rank != 0) {
    // One rank tells what passed; all tell what failed.
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    class Failures : public testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed()) {
          std::fprintf(stderr, "rank %d: %s:%d: %s\n", world->rank, result.file_name(),
                       result.line_number(), result.message());
        }
      }
    };
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  const int result = RUN_ALL_TESTS();
  moe::finalize_mpi();
  return result;
}
