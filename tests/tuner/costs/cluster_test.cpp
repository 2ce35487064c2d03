#include "tuner/costs/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "moe/errors.h"

namespace tuner::cluster_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kSound = R"(name = "box"
device = "cpu"
nodes = 4
ranks_per_node = 2
memory = "2G"
[inter_node]
bandwidth_gbit_per_s = 2.0
latency_s = 60e-6
[intra_node]
bandwidth_gbit_per_s = 40
[fit.gemm]
alpha_s = 5e-6
beta_s_per_flop = 1e-11
[fit.all_to_all]
link = "inter_node"
alpha_s = 2e-4
beta_s_per_byte = 4.5e-9
[interference]
computation_beside_communication = 0.9
)";

struct File {
  std::string path;
  explicit File(const std::string& text, const std::string& name = "cluster_test")
      : path(::testing::TempDir() + name + std::to_string(getpid()) + ".toml") {
    std::ofstream(path) << text;
  }
  ~File() { std::remove(path.c_str()); }
};

CostedCluster load(const std::string& text) { return load_cluster(File(text).path); }

std::string replaced(const std::string& what, const std::string& with) {
  std::string text = kSound;
  const auto place = text.find(what);
  EXPECT_NE(place, std::string::npos) << what;
  return text.replace(place, what.size(), with);
}

std::string error_of(const std::string& text) {
  try {
    load(text);
  } catch (const moe::InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Cluster, ReadsAFile) {
  const auto [cluster, costs] = load(kSound);
  EXPECT_EQ(cluster.name, "box");
  EXPECT_EQ(cluster.nodes, 4);
  EXPECT_EQ(cluster.ranks_per_node, 2);
  EXPECT_EQ(cluster.memory_bytes, std::int64_t{2} << 30);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth_bytes_per_s, 2.5e8);
  EXPECT_DOUBLE_EQ(cluster.inter_node.latency_s, 60e-6);
  EXPECT_DOUBLE_EQ(cluster.intra_node.bandwidth_bytes_per_s, 5e9);
  EXPECT_EQ(costs.fits.at("gemm").unit, "flop");
  EXPECT_EQ(costs.fits.at("all_to_all/inter_node").unit, "byte");
  for (const Occupation link : {Occupation::inter_node, Occupation::intra_node}) {
    EXPECT_DOUBLE_EQ(speed_of(costs.interference, Occupation::computation, link), 0.9);
  }
}

std::vector<int> cards_of(const Cluster& cluster) {
  return groups_of(cluster, {1, cluster.nodes * cluster.ranks_per_node}).card_of;
}

TEST(Cluster, RanksUseTheCardsOfTheirNode) {
  const std::string rate = "bandwidth_gbit_per_s = 2.0\n";
  const auto with = [&](const std::string& keys) { return load(replaced(rate, rate + keys)); };
  EXPECT_THAT(cards_of(load(kSound).cluster), IsEmpty()) << "one each";
  const Cluster own = with("cards_per_node = 2\n").cluster;
  EXPECT_THAT(cards_of(own), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(own.inter_node.bandwidth_bytes_per_s, 2.5e8) << "of one card";
  EXPECT_EQ(cards_of(cluster_from_json(to_json(own))), cards_of(own));
  const Cluster two_each = with("cards_per_node = 4\n").cluster;
  EXPECT_EQ(cards_of(two_each), cards_of(own));
  EXPECT_EQ(two_each.inter_node.bandwidth_bytes_per_s, 5e8);
  const Cluster shared = with("cards_per_node = 2\ncard = \"shared\"\n").cluster;
  EXPECT_THAT(cards_of(shared), IsEmpty());
  EXPECT_EQ(shared.inter_node.bandwidth_bytes_per_s, 5e8);
}

std::string with_cards(const std::string& keys, const std::string& levels) {
  const std::string rate = "bandwidth_gbit_per_s = 2.0\n";
  return replaced(rate, rate + keys) + levels;
}
std::string level(const std::string& keys) {
  return "[[level]]\nname = \"rack\"\nbandwidth_gbit_per_s = 8\nlatency_s = 2e-6\n" + keys;
}

TEST(Cluster, BytesMayLeaveByTheCardInTheReceiversPlace) {
  const Cluster cluster = load(with_cards("cards_per_node = 2\ncard = \"receiver\"\n", "")).cluster;
  const moe::Groups groups = groups_of(cluster_from_json(to_json(cluster)), {1, 8});
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7}, even{0, 2, 4, 6};
  EXPECT_EQ(moe::sending_rank(groups, all, 0, 3), 1) << "the neighbour in the place of rank 3";
  EXPECT_EQ(moe::sending_rank(groups, all, 0, 6), 0);
  EXPECT_EQ(moe::sending_rank(groups, even, 0, 3), 0) << "rank 1 takes no part";
  EXPECT_THAT(error_of(with_cards("card = \"receiver\"\n", "")),
              AllOf(HasSubstr(":8: "), HasSubstr("expected cards_per_node > 1")));
}

TEST(Cluster, LevelsDivideNodesAndCardsIntoBlocks) {
  const Cluster cluster =
      load(with_cards("cards_per_node = 2\n",
                      level("nodes = 2\nrails = true\n") + level("nodes = 2\n")))
          .cluster;
  EXPECT_EQ(cluster.levels.front().uplink, (Link{1e9, 2e-6}));
  const Cluster same = cluster_from_json(to_json(cluster));
  EXPECT_EQ(same.levels, cluster.levels);
  const moe::Groups groups = groups_of(same, {1, 8});
  EXPECT_THAT(groups.levels[0].block_of, ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_THAT(groups.levels[1].block_of, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(moe::levels_crossed(groups, 0, 2), 0);
  EXPECT_EQ(moe::levels_crossed(groups, 0, 3), 1) << "the other rail";
  EXPECT_EQ(moe::levels_crossed(groups, 0, 4), 2) << "the other nodes";
  const Cluster rails = load(with_cards("cards_per_node = 2\n", level("rails = true\n"))).cluster;
  EXPECT_EQ(rails.levels.front().nodes, 4);
  EXPECT_THAT(groups_of(rails, {1, 8}).levels[0].block_of, ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(Cluster, LevelsThatDivideNothingAreRefused) {
  const auto error = [&](const std::string& levels,
                         const std::string& keys = "cards_per_node = 2\n") {
    return error_of(with_cards(keys, levels));
  };
  EXPECT_THAT(error(level("nodes = 3\n")),
              AllOf(HasSubstr(":25: level[0].nodes"),
                    HasSubstr("blocks of 3 nodes: expected a divisor of 4")));
  EXPECT_THAT(error(level("nodes = 4\n")), HasSubstr("expected fewer than all nodes"));
  EXPECT_THAT(error(level("")), HasSubstr("nodes"));
  EXPECT_THAT(error(level("nodes = 2\n") + level("nodes = 2\n")),
              HasSubstr("blocks of 2 nodes above blocks of 2 nodes"));
  EXPECT_THAT(error(level("nodes = 2\n") + level("nodes = 1\n")),
              HasSubstr("blocks of 1 nodes above"));
  EXPECT_THAT(error(level("nodes = 2\n") + level("rails = true\n")),
              HasSubstr("rails of 4 nodes above blocks of 2 nodes"));
  EXPECT_THAT(error(level("nodes = 2\nrial = true\n")), HasSubstr("unknown key"));
  EXPECT_THAT(error(level("rails = true\n"), ""), HasSubstr("expected cards_per_node > 1"));
  EXPECT_THAT(error(level("rails = true\n"), "cards_per_node = 2\ncard = \"shared\"\n"),
              HasSubstr("all ranks use one card"));
  EXPECT_THAT(error(level("nodes = 1\nrails = true\n")), HasSubstr("rails of 1 node"));
  EXPECT_THAT(error_of(replaced("nodes = 4", "nodes = 1") + level("nodes = 1\n")),
              HasSubstr("a level above one node"));
}

TEST(Cluster, APairOfAMeshHasAnEqualShareOfTheLink) {
  const std::string rate = "bandwidth_gbit_per_s = 40\n";
  const Cluster box = load(kSound).cluster;
  EXPECT_EQ(bytes_per_s_of_pair(box), 5e9);
  Cluster mesh = load(replaced(rate, rate + "wiring = \"mesh\"\n")).cluster;
  EXPECT_EQ(bytes_per_s_of_pair(mesh), 5e9) << "of two ranks";
  mesh.ranks_per_node = 5;
  EXPECT_EQ(bytes_per_s_of_pair(cluster_from_json(to_json(mesh))), 1.25e9);
  EXPECT_THAT(error_of(replaced(rate, rate + "wiring = \"ring\"\n")), HasSubstr(":11: "));
}

TEST(Cluster, CardsThatRanksCannotDivideAreRefused) {
  const std::string rate = "bandwidth_gbit_per_s = 2.0\n";
  EXPECT_THAT(error_of(replaced(rate, rate + "cards_per_node = 3\n")),
              AllOf(HasSubstr(":8: "), HasSubstr("3 cards of 2 ranks")));
  EXPECT_THAT(error_of(replaced(rate, rate + "cards_per_node = 0\n")), HasSubstr(":8: "));
  EXPECT_THAT(error_of(replaced(rate, rate + "card = \"nearest\"\n")), HasSubstr(":8: "));
}

TEST(Cluster, ASpeedOfOneLinkGoesBeforeThatOfCommunication) {
  const Interference slow = load(std::string(kSound) +
                                 "computation_beside_inter_node = 0.8\ncopy_beside_all = 0.25\n"
                                 "communication_beside_copy = 0.7\nintra_node_beside_copy = 0.6\n")
                                .costs.interference;
  EXPECT_EQ(speed_of(slow, Occupation::computation, Occupation::inter_node), 0.8);
  EXPECT_EQ(speed_of(slow, Occupation::computation, Occupation::intra_node), 0.9);
  EXPECT_EQ(speed_of(slow, Occupation::inter_node, Occupation::copy), 0.7);
  EXPECT_EQ(speed_of(slow, Occupation::intra_node, Occupation::copy), 0.6);
  EXPECT_EQ(slow.beside_all[static_cast<std::size_t>(Occupation::copy)], 0.25);
  EXPECT_THROW(load(std::string(kSound) + "copy_beside_gossip = 0.5\n"), moe::InputError);
  EXPECT_THROW(load(std::string(kSound) + "copy_beside_all = 1.5\n"), moe::InputError);
}

TEST(Cluster, ProcessorsOfAFileAreSharedByAllItsRanks) {
  EXPECT_TRUE(load(kSound).cluster.shared_processors.empty());
  const Cluster cluster = load(std::string("processors = 2.5\n") + kSound).cluster;
  ASSERT_EQ(cluster.shared_processors.size(), 1U);
  EXPECT_EQ(cluster.shared_processors[0].seats, 2.5);
  EXPECT_EQ(cluster.shared_processors[0].ranks, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Cluster, ProcessorsAreContendedWhereMoreRanksComputeThanHaveASeat) {
  const std::vector<SharedProcessors> shared{{1, {0, 2}}, {2, {1, 3}}};
  EXPECT_EQ(contended_processors(shared, 4), (std::vector<SharedProcessors>{{1, {0, 2}}}));
  EXPECT_TRUE(contended_processors(shared, 2).empty());
  EXPECT_TRUE(ranks_contend(shared, 4));
  EXPECT_FALSE(ranks_contend(shared, 2));
}

TEST(Cluster, ReadsFitsByPoints) {
  const std::string points =
      "[fit.reduce]\nlink = \"intra_node\"\npoints = [[1024, 1e-4], [4096, 2e-4], [8192, 1e-3]]\n";
  const CostModel costs = load(kSound + points).costs;
  const LinearFit& fit = costs.fits.at("reduce/intra_node");
  EXPECT_DOUBLE_EQ(seconds_of(fit, 1, 6144), 6e-4);
  EXPECT_EQ(cost_model_from_json(to_json(costs)).fits.at("reduce/intra_node"), fit);
  const auto error_with = [&](const std::string& what, const std::string& with) {
    std::string text = kSound + points;
    return error_of(text.replace(text.find(what), what.size(), with));
  };
  EXPECT_THAT(error_with("[4096, 2e-4], [8192, 1e-3]", ""), HasSubstr("two points or more"));
  EXPECT_THAT(error_with("4096", "512"), HasSubstr("sizes must ascend"));
  EXPECT_THAT(error_with("2e-4]", "2e-5]"), HasSubstr("no error")) << "another protocol";
  EXPECT_THAT(error_with("[4096, 2e-4]", "[4096]"), HasSubstr("a size and its seconds"));
  EXPECT_THAT(error_with("link = \"intra_node\"\n", ""), HasSubstr("names no link"));
}

TEST(Cluster, ProductsMayHavePointsByFlops) {
  const LinearFit fit = load(replaced("alpha_s = 5e-6\nbeta_s_per_flop = 1e-11\n",
                                      "points = [[1e6, 1e-5], [1e9, 1e-3]]\n"))
                            .costs.fits.at("gemm");
  EXPECT_EQ(fit.unit, "flop");
  EXPECT_DOUBLE_EQ(seconds_of(fit, 1, 1e9), 1e-3);
}

TEST(Cluster, BytesOfAFitAreCountedAsItsTableDoes) {
  const auto beta_s = [](const std::string& op, const std::string& keys) {
    const auto costs =
        load(std::string(kSound) + "[fit." + op +
             "]\nlink = \"intra_node\"\nalpha_s = 1e-5\nbeta_s_per_byte = 6e-9\n" + keys)
            .costs;
    return costs.fits.at(op + "/intra_node").beta_s_per_unit;
  };
  const std::string nccl = "bytes = \"nccl-tests\"\nranks = 4\n",
                    osu = "bytes = \"osu\"\nranks = 4\n";
  EXPECT_DOUBLE_EQ(beta_s("all_gather", "bytes = \"bus\"\n"), 6e-9);
  EXPECT_DOUBLE_EQ(beta_s("all_gather", "bytes = \"wire\"\n"), 6e-9);
  EXPECT_DOUBLE_EQ(beta_s("all_reduce", nccl), 6e-9 / 1.5) << "2 * 3 / 4 of the array";
  EXPECT_DOUBLE_EQ(beta_s("all_gather", nccl), 6e-9 / 0.75) << "of the whole array";
  EXPECT_DOUBLE_EQ(beta_s("all_gather", osu), 6e-9 / 3) << "of the array that each rank has";
  EXPECT_DOUBLE_EQ(beta_s("broadcast", osu), 6e-9);
  const std::string points =
      std::string(kSound) + "[fit.all_gather]\nlink = \"intra_node\"\n" + osu;
  EXPECT_EQ(load(points + "points = [[1000, 1e-4], [2000, 1e-3]]\n")
                .costs.fits.at("all_gather/intra_node")
                .points.back()
                .units,
            6000);
  const auto refused = [&](const std::string& fit) { return error_of(std::string(kSound) + fit); };
  const std::string line = "alpha_s = 1e-5\nbeta_s_per_byte = 6e-9\nlink = \"intra_node\"\n";
  EXPECT_THAT(refused("[fit.all_gather]\n" + line + "bytes = \"nccl-tests\"\n"),
              HasSubstr("ranks"));
  EXPECT_THAT(refused("[fit.all_gather]\n" + line + "ranks = 4\n"), HasSubstr("is of bytes = "));
  EXPECT_THAT(refused("[fit.all_gather]\n" + line + "ranks = 4\n"), HasSubstr("of \"bus\""));
  EXPECT_THAT(refused("[fit.pass_on]\n" + line + nccl), HasSubstr("no benchmark is of pass_on"));
}

TEST(Cluster, BytesBetweenNodesAreThoseThatLeaveThem) {
  const auto beta_s = [](const std::string& fit, const std::string& cards) {
    const std::string shape =
        "device = \"cuda\"\nnodes = 2\nranks_per_node = 8\n[inter_node]\n"
        "bandwidth_gbit_per_s = 400\n" +
        cards +
        "[intra_node]\nbandwidth_gbit_per_s = 3600\n[fit.gemm]\nalpha_s = 0\n"
        "beta_s_per_flop = 1e-15\n[fit.memory]\nalpha_s = 0\nbeta_s_per_byte = 1e-12\n[fit.";
    return load(shape + fit + "alpha_s = 1e-5\nbeta_s_per_byte = 6e-9\nlink = \"inter_node\"\n")
        .costs.fits.begin()
        ->second.beta_s_per_unit;
  };
  const std::string nccl = "bytes = \"nccl-tests\"\nranks = 16\n",
                    bus = "bytes = \"bus\"\nranks = 16\n", own = "cards_per_node = 8\n";
  EXPECT_DOUBLE_EQ(beta_s("all_to_all]\n" + nccl, own), 6e-9 * 2) << "half stays on its node";
  EXPECT_DOUBLE_EQ(beta_s("all_reduce]\n" + nccl, ""), 6e-9 / 1.875) << "one card";
  EXPECT_DOUBLE_EQ(beta_s("all_reduce]\n" + nccl, own), 6e-9 / 1.875 * 8) << "each of 8 cards";
  EXPECT_DOUBLE_EQ(beta_s("all_reduce]\n" + bus, own), 6e-9 * 8);
  EXPECT_DOUBLE_EQ(beta_s("all_gather]\n" + nccl, own), 6e-9 / 0.9375 * 8);
}

TEST(Cluster, AFitThatIsFasterThanItsLinkIsRefusedWithBothRates) {
  EXPECT_THAT(
      error_of(replaced("4.5e-9", "1e-9")),
      HasSubstr(":17: fit.all_to_all.beta_s_per_byte: 1e-09 is 8 Gbit/s, and inter_node has "
                "2: expected its bandwidth_gbit_per_s to be that of the fit or more, or a "
                "time of 4e-09 or more"));
  EXPECT_EQ(error_of(replaced("4.5e-9", "3.9e-9")), "no error") << "two digits are rounded";
  // Of points the whole time counts: small sizes take about as long.
  const auto points = [](const std::string& list) {
    return kSound + ("[fit.broadcast]\nlink = \"inter_node\"\npoints = " + list + "\n");
  };
  EXPECT_EQ(error_of(points("[[1024, 3e-4], [4096, 3e-4], [1000000, 5e-3]]")), "no error");
  EXPECT_THAT(error_of(points("[[1024, 3e-4], [1000000, 2e-3]]")),
              HasSubstr("fit.broadcast.points: 1e+06 bytes in 0.002 s are 4 Gbit/s, and inter_node "
                        "has 2"));
}

TEST(Cluster, SettingsMustNotMakeAFitFasterThanItsLink) {
  const File file(kSound);
  const auto refusal = [&](const std::vector<std::string>& settings) -> std::string {
    try {
      load_cluster(file.path, settings);
    } catch (const moe::InputError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal({"cluster.inter_node.bandwidth_gbit_per_s=0.1"}), "none") << "fits follow";
  const std::string faster = "cluster.fit.all_to_all.beta_s_per_byte=1e-9";
  EXPECT_THAT(refusal({faster}), HasSubstr("is 8 Gbit/s, and inter_node has 2"));
  EXPECT_EQ(refusal({faster, "cluster.inter_node.bandwidth_gbit_per_s=8"}), "none");
  EXPECT_THAT(refusal({faster, "cluster.inter_node.bandwidth_gbit_per_s=4"}),
              HasSubstr("is 8 Gbit/s, and inter_node has 4"));
}

TEST(Cluster, ReadsAFitOfEachLink) {
  const std::string both =
      "[fit.broadcast.inter_node]\nalpha_s = 1e-4\nbeta_s_per_byte = 5e-9\n"
      "[fit.broadcast.intra_node]\npoints = [[1024, 1e-5], [4096, 2e-5]]\n";
  const auto fits = load(kSound + both).costs.fits;
  EXPECT_EQ(fits.at("broadcast/inter_node").alpha_s, 1e-4);
  EXPECT_EQ(fits.at("broadcast/intra_node").points.size(), 2u);
  EXPECT_THAT(error_of(kSound + both + "[fit.broadcast]\nalpha_s = 1e-4\n"),
              HasSubstr("fit.broadcast.alpha_s: unknown key"));
}

TEST(Cluster, FitsFollowALinkThatASettingChanges) {
  const File file(
      std::string(kSound) +
      "[fit.broadcast]\nlink = \"inter_node\"\npoints = [[0, 1e-4], [1000, 3e-4]]\n"
      "[fit.all_gather]\nlink = \"intra_node\"\nalpha_s = 1e-5\nbeta_s_per_byte = 3e-10\n");
  const auto fits = [&](const std::vector<std::string>& settings) {
    return load_cluster(file.path, settings).costs.fits;
  };
  const auto own = fits({"cluster.nodes=2"});
  EXPECT_EQ(own, fits({}));
  const auto faster = fits({"cluster.inter_node.bandwidth_gbit_per_s=20"});
  EXPECT_DOUBLE_EQ(faster.at("all_to_all/inter_node").beta_s_per_unit, 4.5e-10);
  EXPECT_DOUBLE_EQ(faster.at("all_to_all/inter_node").alpha_s, 2e-4);
  EXPECT_DOUBLE_EQ(seconds_of(faster.at("broadcast/inter_node"), 1, 1000), 1.2e-4);
  EXPECT_EQ(faster.at("all_gather/intra_node"), own.at("all_gather/intra_node"));
  EXPECT_EQ(faster.at("gemm"), own.at("gemm"));
  const auto sooner = fits({"cluster.inter_node.latency_s=30e-6"});
  EXPECT_DOUBLE_EQ(sooner.at("all_to_all/inter_node").alpha_s, 1e-4);
  EXPECT_DOUBLE_EQ(sooner.at("all_to_all/inter_node").beta_s_per_unit, 4.5e-9);
  EXPECT_DOUBLE_EQ(seconds_of(sooner.at("broadcast/inter_node"), 1, 1000), 2.5e-4);
  const auto asked = fits({"cluster.inter_node.bandwidth_gbit_per_s=20",
                           "cluster.fit.all_to_all.beta_s_per_byte=1e-9"});
  EXPECT_DOUBLE_EQ(asked.at("all_to_all/inter_node").beta_s_per_unit, 1e-9) << "as it is asked for";
}

TEST(Cluster, FitsFollowTheNetworkOfANodeHoweverItIsWritten) {
  const File file(
      "device = \"cuda\"\nnodes = 2\nranks_per_node = 8\n[inter_node]\n"
      "bandwidth_gbit_per_s = 400\n[intra_node]\nbandwidth_gbit_per_s = 3600\n"
      "[fit.gemm]\nalpha_s = 0\nbeta_s_per_flop = 1e-15\n"
      "[fit.memory]\nalpha_s = 0\nbeta_s_per_byte = 1e-12\n"
      "[fit.all_to_all]\nlink = \"inter_node\"\nalpha_s = 1e-5\nbeta_s_per_byte = 8e-10\n"
      "[fit.all_gather]\nlink = \"inter_node\"\nalpha_s = 1e-5\nbeta_s_per_byte = 8e-10\n"
      "bytes = \"bus\"\nranks = 16\n"
      "[fit.all_reduce]\nlink = \"inter_node\"\nalpha_s = 1e-5\nbeta_s_per_byte = 8e-10\n");
  const auto beta_s = [&](const std::string& op, const std::vector<std::string>& settings) {
    return load_cluster(file.path, settings).costs.fits.at(op + "/inter_node").beta_s_per_unit;
  };
  const std::string cards = "cluster.inter_node.cards_per_node=8",
                    rate = "cluster.inter_node.bandwidth_gbit_per_s=50",
                    shared = "cluster.inter_node.card=\"shared\"";
  EXPECT_DOUBLE_EQ(beta_s("all_to_all", {cards, rate}), 8e-10) << "the same wire";
  EXPECT_DOUBLE_EQ(beta_s("all_to_all", {cards}), 1e-10) << "8 times the network";
  EXPECT_DOUBLE_EQ(beta_s("all_to_all", {cards, rate, shared}), 8e-10);
  EXPECT_DOUBLE_EQ(beta_s("all_reduce", {cards, rate}), 64e-10) << "an eighth of the bytes each";
  EXPECT_DOUBLE_EQ(beta_s("all_reduce", {cards}), 8e-10);
  EXPECT_DOUBLE_EQ(beta_s("all_reduce", {cards, rate, shared}), 8e-10) << "one ring";
  const double one_card = beta_s("all_gather", {});
  EXPECT_NEAR(beta_s("all_gather", {cards, rate}) * 0.9375 / 8, one_card * 0.5, 1e-18);
}

/// Two nodes of 8 ranks with a card each.
const char* const kOwnCards =
    "device = \"cuda\"\nnodes = 2\nranks_per_node = 8\nmeasured = [\"gemm\", "
    "\"all_to_all/inter_node\"]\n[inter_node]\nbandwidth_gbit_per_s = 400\ncards_per_node = 8\n"
    "[intra_node]\nbandwidth_gbit_per_s = 3600\n"
    "[fit.gemm]\npoints = [[1e6, 1e-5], [1e9, 1e-3]]\n"
    "[fit.memory]\nalpha_s = 0\nbeta_s_per_byte = 1e-12\n"
    "[fit.all_to_all]\nlink = \"inter_node\"\nalpha_s = 1e-5\nbeta_s_per_byte = 8e-11\n"
    "[fit.all_reduce]\nlink = \"inter_node\"\nalpha_s = 1e-5\nbeta_s_per_byte = 8e-11\n"
    "bytes = \"bus\"\nranks = 16\n";

TEST(Cluster, FitsFollowHowManyRanksShareTheCardsOfANode) {
  const File file(kOwnCards);
  const auto beta_s = [&](const std::string& op, const std::vector<std::string>& settings) {
    return load_cluster(file.path, settings).costs.fits.at(op + "/inter_node").beta_s_per_unit;
  };
  const std::string ranks = "cluster.ranks_per_node=4",
                    cards = "cluster.inter_node.cards_per_node=";
  EXPECT_DOUBLE_EQ(beta_s("all_to_all", {ranks, cards + "4"}), 8e-11) << "a card each, as before";
  EXPECT_DOUBLE_EQ(beta_s("all_reduce", {ranks, cards + "4"}), beta_s("all_reduce", {}))
      << "the table is still one of 2 nodes of 8";
  EXPECT_DOUBLE_EQ(beta_s("all_to_all", {ranks}), 4e-11) << "two cards each";
  EXPECT_DOUBLE_EQ(beta_s("all_to_all", {ranks, cards + "1"}), 32e-11) << "four to a card";
}

TEST(Cluster, AFileMayBuildOnAnother) {
  const File below(kOwnCards, "cluster_below");
  const auto above = [&](const std::string& text, const std::vector<std::string>& settings = {}) {
    return load_cluster(File("base = \"" + below.path + "\"\n" + text).path, settings);
  };
  const auto [same, costs] = above("");
  EXPECT_EQ(same.name, std::filesystem::path(File("").path).stem());
  EXPECT_EQ(same.nodes, 2);
  EXPECT_EQ(costs.fits, load_cluster(below.path).costs.fits);
  EXPECT_EQ(costs.measured, load_cluster(below.path).costs.measured);
  const auto slower = above("memory = \"40G\"\n[inter_node]\nbandwidth_gbit_per_s = 200\n");
  EXPECT_EQ(slower.cluster.memory_bytes, std::int64_t{40} << 30);
  EXPECT_EQ(slower.cluster.cards_per_node, 8);
  EXPECT_DOUBLE_EQ(slower.costs.fits.at("all_to_all/inter_node").beta_s_per_unit, 16e-11);
  EXPECT_THAT(slower.costs.measured, ElementsAre("gemm")) << "nobody measured the slower network";
  const auto both = above("[inter_node]\nbandwidth_gbit_per_s = 200\n",
                          {"cluster.inter_node.bandwidth_gbit_per_s=100"});
  EXPECT_DOUBLE_EQ(both.costs.fits.at("all_to_all/inter_node").beta_s_per_unit, 32e-11);
}

TEST(Cluster, FitsOfAFileStandAboveThoseOfItsBase) {
  const File below(kOwnCards, "cluster_below");
  const std::string base = "base = \"" + below.path + "\"\n",
                    line = "[fit.gemm]\nalpha_s = 0\nbeta_s_per_flop = 2e-12\n",
                    slower = "[inter_node]\nbandwidth_gbit_per_s = 200\n",
                    own = "[fit.all_to_all]\nbeta_s_per_byte = 9e-11\n";
  const CostModel costs = load(base + slower + line + own).costs;
  EXPECT_DOUBLE_EQ(seconds_of(costs.fits.at("gemm"), 1, 1e9), 2e-3) << "a line in place of points";
  EXPECT_DOUBLE_EQ(costs.fits.at("all_to_all/inter_node").beta_s_per_unit, 9e-11);
  EXPECT_THAT(costs.measured, IsEmpty());
  const File file(base + slower + own);
  EXPECT_DOUBLE_EQ(load_cluster(file.path, {"cluster.inter_node.bandwidth_gbit_per_s=100"})
                       .costs.fits.at("all_to_all/inter_node")
                       .beta_s_per_unit,
                   18e-11)
      << "a setting is above the file, whose own fit is of its own network";
  EXPECT_THAT(error_of(base + line + "points = [[1e6, 1e-5], [1e9, 1e-3]]\n"),
              HasSubstr("stands beside points"));
}

TEST(Cluster, BasesAreShippedClustersToo) {
  const auto dgx = load(
      "base = \"dgx-h100\"\nranks_per_node = 4\n[inter_node]\n"
      "cards_per_node = 4\n");
  EXPECT_EQ(dgx.cluster.nodes, 8);
  EXPECT_EQ(dgx.cluster.cards_per_node, 4);
  EXPECT_THAT(error_of("base = \"dgx-h1000\"\n"),
              AllOf(HasSubstr(":1: base: "), HasSubstr("dgx-h1000"), HasSubstr("dgx-h100,")));
}

TEST(Cluster, SurvivesJson) {
  auto [cluster, costs] = load(kSound);
  cluster.shared_processors = {{1, {0, 2}}, {1.5, {1, 3}}};
  EXPECT_EQ(cluster_from_json(to_json(cluster)).shared_processors, cluster.shared_processors);
  EXPECT_EQ(to_json(cluster_from_json(to_json(cluster))), to_json(cluster));
  EXPECT_EQ(to_json(cost_model_from_json(to_json(costs))), to_json(costs));
  EXPECT_THROW(cluster_from_json("{}"), moe::InputError);
  EXPECT_THROW(cost_model_from_json("no json"), moe::InputError);
}

TEST(ClusterErrors, NameLineKeyAndExpectation) {
  EXPECT_THAT(error_of(replaced("nodes = 4", "nodes = 0")),
              HasSubstr(":3: nodes: expected an integer from 1 to 1000000, got 0"));
  EXPECT_THAT(error_of(replaced("nodes = 4", "nodse = 4")),
              AllOf(HasSubstr("nodes: missing"), HasSubstr("line 3 has nodse")));
  EXPECT_THAT(error_of(replaced("\"2G\"", "\"2X\"")), HasSubstr(":5: memory: expected bytes"));
  EXPECT_THAT(error_of(replaced("\"2G\"", "\"9999999999G\"")), HasSubstr(":5: memory: expected"));
  EXPECT_THAT(error_of(replaced("\"2G\"", "\"0\"")),
              HasSubstr(":5: memory: expected bytes above 0; where they are not known, no key"));
  EXPECT_THAT(error_of(replaced("\"cpu\"", "\"tpu\"")),
              HasSubstr(":2: device: expected one of \"cpu\", \"cuda\", got \"tpu\""));
  EXPECT_THAT(error_of(replaced("2.0", "-1")), HasSubstr(":7: inter_node.bandwidth_gbit_per_s"));
  EXPECT_THAT(error_of(replaced("latency_s = 60e-6", "latency = 60e-6")),
              HasSubstr(":8: inter_node.latency: unknown key"));
  EXPECT_THAT(error_of(replaced("beta_s_per_flop", "beta_s_per_kilo")),
              HasSubstr("expected either beta_s_per_byte or beta_s_per_flop"));
  EXPECT_THAT(error_of(replaced("0.9", "1.5")),
              HasSubstr("expected a speed from 0.001 to 1, got 1.5"));
  EXPECT_THAT(error_of("name = "), HasSubstr(":1: "));
  EXPECT_THAT(error_of("device = \"cpu\"\nnodes = 2\nranks_per_node = 1\n"),
              HasSubstr("inter_node: missing"));
}

TEST(Cluster, EveryFileShippedIsSound) {
  for (const auto& entry :
       std::filesystem::directory_iterator(MOELAB_SOURCE_DIR "/experiments/clusters")) {
    if (entry.path().extension() != ".toml") continue;  // a page says which keys there are
    ASSERT_NO_THROW(load_cluster(entry.path())) << entry.path();
    EXPECT_EQ(load_cluster(entry.path()).cluster.name, entry.path().stem()) << entry.path();
  }
}

TEST(Cluster, ProductsOfShippedFilesAreNoFasterThanDataSheetsSay) {
  const std::map<std::string, double> flops_per_s{{"dgx-a100", 312e12},   {"hgx-a100", 312e12},
                                                  {"dgx-h100", 989.5e12}, {"hgx-h200", 989.5e12},
                                                  {"dgx-b200", 2250e12},  {"gb200-nvl72", 2500e12},
                                                  {"mi300x", 1307.4e12}};
  for (const auto& [name, most] : flops_per_s) {
    const auto costs =
        load_cluster(MOELAB_SOURCE_DIR "/experiments/clusters/" + name + ".toml").costs;
    for (const auto& [key, fit] : costs.fits) {
      if (type_of_fit(key) != "bf16") continue;
      for (const double flops : {1e6, 1e8, 1e10, 1e12, 1e14}) {
        EXPECT_LE(flops / seconds_of(fit, 1, flops), most) << name << " " << key << " " << flops;
      }
    }
  }
}

TEST(Cluster, SaysWhichFitsWereMeasured) {
  EXPECT_THAT(load("measured = [\"gemm\"]\n" + std::string(kSound)).costs.measured,
              ::testing::ElementsAre("gemm"));
  EXPECT_THAT(error_of("measured = [\"gem\"]\n" + std::string(kSound)),
              HasSubstr(":1: measured[0]: expected a fit of this file"));
}

TEST(Cluster, RanksFillANodeBeforeTheNext) {
  const auto [cluster, costs] = load(kSound);
  EXPECT_EQ(groups_of(cluster, moe::Layout{3, 2, 1}).node_of, (std::vector<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_THROW(groups_of(cluster, moe::Layout{3, 3, 1}), moe::Refusal);
}

}  // namespace
}  // namespace tuner::cluster_test
