#include "db/network.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/db/temporary_directory.h"

namespace db::network_test {
namespace {

TEST(Network, OfABoxIsTheRateOfItsCards) {
  EXPECT_EQ(box_network({{"MOELAB_BOX_NIC_GBPS", "0.5"}}), "box 0.5 Gbit/s");
  EXPECT_EQ(box_network({{"MOELAB_BOX_NIC_GBPS", "1.0"}}),
            box_network({{"MOELAB_BOX_NIC_GBPS", "1"}}));
  EXPECT_EQ(box_network({{"MOELAB_BOX_NIC_GBPS", "0.3"}, {"MOELAB_BOX_INTRA_GBPS", "4"}}),
            "box 0.3 Gbit/s, inside 4 Gbit/s");
  EXPECT_EQ(box_network({{"MOELAB_BOX_NIC_GBPS", "0.3"}, {"MOELAB_BOX_PACED", "/dev/shm/x"}}),
            "paced box 0.3 Gbit/s");
  EXPECT_EQ(box_network({{"MOELAB_BOX_NIC_GBPS", "0.3"}, {"MOELAB_BOX_CARDS", "1"}}),
            "box 0.3 Gbit/s");
  EXPECT_FALSE(box_network({}));
}

TEST(Network, OfABoxWhoseNodesHaveTheirOwnShareIsAnother) {
  const std::map<std::string, std::string> whole{{"MOELAB_BOX_NIC_GBPS", "0.75"}};
  std::map<std::string, std::string> shared = whole;
  shared["MOELAB_BOX_CORE_SHARE"] = "0.50";
  EXPECT_EQ(box_network(shared), "box 0.75 Gbit/s, 0.5 cores a node");
  EXPECT_TRUE(are_other_networks(*box_network(shared), *box_network(whole), 4));
  EXPECT_TRUE(is_box_network(*box_network(shared)));
  EXPECT_EQ(cards_per_node(*box_network(shared)), 1);
  setenv("MOELAB_BOX_NIC_GBPS", "0.75", 1);
  setenv("MOELAB_BOX_CORE_SHARE", "0.5", 1);
  EXPECT_EQ(this_network(), "box 0.75 Gbit/s, 0.5 cores a node");
  unsetenv("MOELAB_BOX_CORE_SHARE");
  EXPECT_EQ(this_network(), "box 0.75 Gbit/s");
  unsetenv("MOELAB_BOX_NIC_GBPS");
}

TEST(Network, OfABoxTellsTheCardsOfANode) {
  const std::map<std::string, std::string> box{
      {"MOELAB_BOX_NIC_GBPS", "0.3"}, {"MOELAB_BOX_CARDS", "12"}, {"MOELAB_BOX_INTRA_GBPS", "4"}};
  EXPECT_EQ(box_network(box), "box 12 x 0.3 Gbit/s, inside 4 Gbit/s");
  EXPECT_EQ(cards_per_node(*box_network(box)), 12);
  EXPECT_EQ(cards_per_node("box 0.5 Gbit/s"), 1);
  EXPECT_EQ(cards_per_node("paced box 0.5 Gbit/s"), 1);
  EXPECT_EQ(cards_per_node("mlx5_0 400 Gb/sec (4X NDR), mlx5_1 400 Gb/sec (4X NDR)"), std::nullopt);
  EXPECT_EQ(cards_per_node(""), std::nullopt);
}

TEST(Network, InOneGpuSaysSoAndWhatIsPaced) {
  EXPECT_EQ(one_gpu_network({4, 2, 200, 400}), "paced, one GPU: 200 Gbit/s, inside 400 Gbit/s");
  EXPECT_EQ(one_gpu_network({4, 1, 25.5, 400, 8}),
            "paced, one GPU: 25.5 Gbit/s, copies by 8 blocks");
  EXPECT_EQ(one_gpu_network({2, 2, 200, 0}), "one GPU, not paced") << "its ranks are one node";
  EXPECT_EQ(cards_per_node(one_gpu_network({4, 2})), 1);
  EXPECT_TRUE(is_one_gpu_network(one_gpu_network({2, 2, 200, 0})));
  EXPECT_FALSE(is_box_network(one_gpu_network({4, 2})));
  EXPECT_TRUE(are_other_networks(one_gpu_network({4, 2}), "", 1))
      << "its nodes are on one computer";
}

TEST(Network, OfAComputerAreTheCardsWhoseRateIsKnown) {
  const TemporaryDirectory directory;
  const std::filesystem::path system = directory.path();
  const auto card = [&](const std::string& name, const std::string& state, const std::string& speed,
                        bool physical) {
    const auto folder = system / "class" / "net" / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "operstate") << state << "\n";
    std::ofstream(folder / "speed") << speed << "\n";
    if (physical) std::filesystem::create_directories(folder / "device");
  };
  card("eth1", "up", "25000", true);
  card("eth0", "up", "2500", true);
  card("eth2", "down", "1000", true);
  card("docker0", "up", "10000", false);
  card("virtio0", "up", "-1", true);
  const auto port = system / "class" / "infiniband" / "mlx5_0" / "ports" / "1";
  std::filesystem::create_directories(port);
  std::ofstream(port / "rate") << "100 Gb/sec (4X EDR)\n";
  EXPECT_EQ(card_network(system), "eth0 2.5 Gbit/s, eth1 25 Gbit/s, mlx5_0 100 Gb/sec (4X EDR)");
  EXPECT_EQ(card_network(system / "nothing"), "");
}

}  // namespace
}  // namespace db::network_test
