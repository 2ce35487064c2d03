#include "moe/train/link_times.h"

#include <gtest/gtest.h>

#include "moe/communicator/communicator.h"

namespace moe::link_times_test {
namespace {

TEST(LinkTimes, ATransferLastsFromTheSendersBeginAndOnlyWhereTheReceiverWaited) {
  // Rank 1 began at 9.9 s; on rank 0's clock its own time is 100 s less.
  const auto begun_s = [](int rank, int op) {
    if (rank == 1) return op == 3 ? 9.9 : 20.0;
    return rank == 0 ? 10.0 : 9.0;
  };
  const auto on_clock = [](double own_s) { return own_s - 100; };
  const std::vector<Arrival> arrivals{
      {.op = 3, .from = 0, .bytes = 1000, .at_s = 110.5},
      {.op = 3,
       .from = 2,
       .bytes = 2000,
       .at_s = 110.5},  // began 0.9 s before: bytes may lie there
      {.op = 4, .from = 0, .bytes = 3000, .at_s = 120.1},   // rank 1 came 10 s late
      {.op = 3, .from = 0, .bytes = 4000, .at_s = 109.9}};  // before it was sent: the clocks
  const std::vector<Received> received = transfers_of(arrivals, 1, begun_s, on_clock);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].from, 0);
  EXPECT_EQ(received[0].bytes, 1000);
  EXPECT_DOUBLE_EQ(received[0].busy_s, 0.5);
}

TEST(LinkTimes, RankZeroLearnsOfAllLinksAndTheirMedians) {
  run_local_ranks(3, [](Communicator& world) {
    LinkTimes times;
    if (world.rank > 0) {
      // From rank 0 at 100 bytes a second; the rank after it was descheduled once.
      for (const double busy_s : {10.0, 10.0, 1000.0, 10.0, 8.0}) {
        times.add(std::vector<Received>{{0, 1000, busy_s}});
      }
    }
    const std::vector<db::RunLink> links = times.gather(world, 60);
    ASSERT_EQ(links.size(), world.rank == 0 ? 2u : 0u);
    for (std::size_t i = 0; i < links.size(); ++i) {
      EXPECT_EQ(links[i].from_rank, 0);
      EXPECT_EQ(links[i].to_rank, static_cast<int>(i) + 1);
      EXPECT_EQ(links[i].transfers, 5);
      EXPECT_EQ(links[i].bytes, 5000);
      EXPECT_DOUBLE_EQ(links[i].busy_s, 1038);
      EXPECT_DOUBLE_EQ(links[i].bandwidth_bytes_per_s, 100);
      EXPECT_EQ(links[i].relative_error, 0);
    }
  });
}

}  // namespace
}  // namespace moe::link_times_test
