#include "moe/communicator/communicator.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "communicator_cases.h"
#include "moe/backend/backend.h"
#include "moe/communicator/local.h"
#include "moe/errors.h"

namespace moe::communicator_communicator_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class LocalRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LocalRanks, testing::Values(1, 2, 4, 7));

TEST_P(LocalRanks, CollectivesGiveWhatOneRankWorksOut) {
  run_local_ranks(GetParam(),
                  [](Communicator& world) { cases::check_table(world, cases::small_counts); });
}

TEST(LocalCommunicator, RanksOfNodesGiveWhatOneRankWorksOut) {
  using Nodes = std::vector<int>;
  for (const Nodes& node_of :
       {Nodes{0, 0, 1, 1}, Nodes{0, 1, 0, 1, 0}, Nodes{0, 1, 2, 0, 1, 2, 0}, Nodes{1, 0, 0, 0}}) {
    SCOPED_TRACE(testing::PrintToString(node_of));
    run_local_ranks(node_of, [&](Communicator& world) {
      cases::check_table(world, cases::small_counts, node_of);
    });
  }
}

TEST(LocalCommunicator, LongArraysTravelInFragments) {
  using Nodes = std::vector<int>;
  for (const Nodes& node_of : {Nodes{0, 0, 0, 0}, Nodes{0, 0, 1, 1}}) {
    run_local_ranks(node_of,
                    [&](Communicator& world) { cases::check_table(world, {300'007}, node_of); });
  }
}

TEST_P(LocalRanks, TwoCommunicatorsServeTwoThreadsAtOnce) {
  run_local_ranks(GetParam(), cases::check_two_streams);
}

TEST_P(LocalRanks, CountsTheBytesThatEachCollectiveStates) {
  run_local_ranks(GetParam(), cases::check_sent_bytes);
}

TEST_P(LocalRanks, TimeLimitNamesWhoWasWaitedFor) {
  run_local_ranks(GetParam(), cases::check_time_limit);
}

TEST_P(LocalRanks, AnnouncedWorkIsWaitedForAndSilenceIsNot) {
  run_local_ranks(GetParam(), [](Communicator& world) { cases::check_announced_work(world, 0.8); });
}

TEST_P(LocalRanks, ClocksOfThreadsAreOneClock) {
  run_local_ranks(GetParam(), [](Communicator& world) {
    const ClockOffset clock = measure_clock_offset(world);
    EXPECT_LE(std::abs(clock.offset_s), clock.error_s);
    EXPECT_LT(clock.error_s, 0.1);
    if (world.rank == 0) {
      EXPECT_EQ(clock.error_s, 0);
    }
  });
}

TEST(LocalCommunicator, ThrowingRankDoesNotHangTheOthers) {
  std::atomic<int> told = 0;
  try {
    run_local_ranks(4, [&](Communicator& world) {
      if (world.rank == 2) throw std::runtime_error("out of flour");
      try {
        world.barrier(cases::call("barrier", 30));
      } catch (const CommunicationError& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 2 ended with an exception"));
        ++told;
        throw;
      }
    });
    FAIL() << "nothing thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "out of flour");
  }
  EXPECT_EQ(told, 3);
}

TEST(LocalCommunicator, ThrowingRankEndsWaitsInSplitGroupsToo) {
  EXPECT_THROW(run_local_ranks(4,
                               [](Communicator& world) {
                                 const int pair[] = {world.rank / 2 * 2, world.rank / 2 * 2 + 1};
                                 const auto group = world.split(pair);
                                 if (world.rank == 3) throw std::domain_error("3");
                                 if (world.rank == 2) group->barrier(cases::call("pair", 30));
                               }),
               std::domain_error);
}

TEST(LocalCommunicator, CauseIsRethrownNotTheEcho) {
  EXPECT_THROW(run_local_ranks(3,
                               [](Communicator& world) {
                                 if (world.rank == 0) {
                                   std::this_thread::sleep_for(std::chrono::milliseconds(300));
                                 }
                                 const double limit_s = world.rank == 1 ? 0.05 : 30;
                                 world.barrier(cases::call("barrier", limit_s));
                               }),
               TimeLimit);
}

TEST(LocalCommunicator, UnlikeCallsAreExplained) {
  try {
    run_local_ranks(2, [](Communicator& world) {
      std::vector<float> data(8);
      world.all_reduce(data.data(), world.rank == 0 ? 8 : 6, DType::f32, cases::call(""));
    });
    FAIL() << "nothing thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), AnyOf(HasSubstr("rank 0 sends 32 bytes to rank 1 in all_reduce, "
                                              "which expects 24 in all_reduce"),
                                    HasSubstr("rank 1 sends 24 bytes to rank 0 in all_reduce, "
                                              "which expects 32 in all_reduce")));
  }
}

TEST(LocalCommunicator, RowsThatDoNotMatchAreExplained) {
  try {
    run_local_ranks(2, [](Communicator& world) {
      std::vector<std::byte> from(64), to(64);
      const Segment send{1 - world.rank, 0, 3}, receive{1 - world.rank, 0, world.rank + 2};
      world.all_to_all_v(from.data(), {&send, 1}, to.data(), {&receive, 1}, 4, cases::call(""));
    });
    FAIL() << "nothing thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1 sends 12 bytes to rank 0 in all_to_all_v, which "
                                        "expects 8 in all_to_all_v"));
  }
}

TEST(LocalCommunicator, GroupsMustAscendAndHoldTheCaller) {
  run_local_ranks(2, [](Communicator& world) {
    const int other = 1 - world.rank;
    const int descending[] = {1, 0}, twice[] = {0, 0, 1, 1}, beyond[] = {0, 1, 2};
    EXPECT_THROW(world.split({&other, 1}), std::invalid_argument);
    EXPECT_THROW(world.split(descending), std::invalid_argument);
    EXPECT_THROW(world.split(twice), std::invalid_argument);
    EXPECT_THROW(world.split(beyond), std::invalid_argument);
  });
}

TEST_P(LocalRanks, StagedCommunicatorsServeABackendsMemory) {
  run_local_ranks(GetParam(), [](Communicator& world) {
    std::vector<int> everybody(world.size);
    for (int rank = 0; rank < world.size; ++rank) everybody[rank] = rank;
    const auto backend = make_cpu_backend(1);  // whose memory is any memory
    const auto staged = make_staged_communicator(world.split(everybody), *backend);
    EXPECT_FALSE(staged->on_host());
    cases::check_table(*staged, cases::small_counts);
    cases::check_sent_bytes(*staged);
  });
}

TEST(SoloCommunicator, IsAGroupOfOne) {
  const auto solo = make_solo_communicator();
  ASSERT_EQ(solo->size, 1);
  cases::check_table(*solo, cases::small_counts);
}

}  // namespace
}  // namespace moe::communicator_communicator_test
