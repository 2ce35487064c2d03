#include "moe/communicator/open_device.h"

#include <gmock/gmock.h>

#include "moe/errors.h"

namespace moe::open_device_test {
namespace {

using testing::ElementsAre;

TEST(ChooseDevices, IsTheRankWithinTheNodeModuloItsDevices) {
  const std::vector<std::string> a{"a0", "a1"}, b{"b0", "b1"};
  const DeviceChoice two_nodes = choose_devices({a, a, b, b});
  EXPECT_THAT(two_nodes.device, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(two_nodes.sharers, ElementsAre(1, 1, 1, 1));
  EXPECT_TRUE(two_nodes.one_each);

  // Ranks dealt out to nodes by turns.
  EXPECT_THAT(choose_devices({a, b, a, b}).device, ElementsAre(0, 0, 1, 1));
}

TEST(ChooseDevices, CountsWhoSharesADevice) {
  const std::vector<std::string> node{"a0", "a1"};
  const DeviceChoice choice = choose_devices({node, node, node});
  EXPECT_THAT(choice.device, ElementsAre(0, 1, 0));
  EXPECT_THAT(choice.sharers, ElementsAre(2, 1, 2));
  EXPECT_FALSE(choice.one_each);
}

TEST(ChooseDevices, KnowsADeviceThatSeveralHostnamesSee) {
  // A cluster in a box: four nodes, the one GPU of the machine in each.
  const DeviceChoice box = choose_devices({{"gpu"}, {"gpu"}, {"gpu"}, {"gpu"}});
  EXPECT_THAT(box.device, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(box.sharers, ElementsAre(4, 4, 4, 4));
  EXPECT_FALSE(box.one_each);
  // With four GPUs each node gets its own.
  const std::vector<std::string> four{"0", "1", "2", "3"};
  EXPECT_THAT(choose_devices({four, four, four, four}).device, ElementsAre(0, 1, 2, 3));
}

TEST(ChooseDevices, TakesTheOnlyDeviceThatALauncherLeavesVisible) {
  const DeviceChoice bound = choose_devices({{"a0"}, {"a1"}, {"a2"}});
  EXPECT_THAT(bound.device, ElementsAre(0, 0, 0));
  EXPECT_THAT(bound.sharers, ElementsAre(1, 1, 1));
  EXPECT_TRUE(bound.one_each);
  // The same two GPUs, numbered otherwise.
  EXPECT_THAT(choose_devices({{"x", "y"}, {"y", "x"}}).sharers, ElementsAre(1, 1));
}

TEST(ChooseDevices, SaysWhoHasNone) {
  const DeviceChoice choice = choose_devices({{"a0"}, {}});
  EXPECT_THAT(choice.device, ElementsAre(0, -1));
  EXPECT_FALSE(choice.one_each);
}

TEST(OpenDevice, SharesOutTheProcessorAmongTheRanksOfTheMachine) {
  std::int64_t alone = 0;
  run_local_ranks(1, [&](Communicator& world) {
    alone = open_device(world, survey_ranks(world), {}).memory_bytes;
  });
  EXPECT_GT(alone, 0);
  run_local_ranks(3, [&](Communicator& world) {
    const OpenDevice device = open_device(world, survey_ranks(world), {});
    EXPECT_EQ(device.world, nullptr);
    EXPECT_EQ(device.backend->native_stream(Stream::compute), nullptr);
    EXPECT_EQ(device.memory_bytes, alone / 3);
  });
}

TEST(OpenDevice, SharesProcessorsOfNodesThatAreOneMachine) {
  run_local_ranks(2, [](Communicator& world) {
    std::vector<RankInfo> ranks = survey_ranks(world);
    const std::int64_t together = open_device(world, ranks, {}).memory_bytes;
    ranks[1].node = 1;
    EXPECT_EQ(open_device(world, ranks, {}).memory_bytes, together);
    ranks[1].machine = 1;
    EXPECT_GT(open_device(world, ranks, {}).memory_bytes, together);
  });
}

TEST(OpenDevice, ThrowsOnEveryRankWhereThereIsNoGpu) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is one";
  run_local_ranks(2, [](Communicator& world) {
    const auto ranks = survey_ranks(world);
    EXPECT_THROW(open_device(world, ranks, {.cuda = true}), Unavailable);
  });
}

}  // namespace
}  // namespace moe::open_device_test
