#include "moe/communicator/ranks.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "moe/communicator/cores.h"

namespace moe::ranks_test {
namespace {

TEST(Ranks, SurveyIsTheSameOnEveryRank) {
  run_local_ranks(3, [](Communicator& world) {
    const std::vector<RankInfo> ranks = survey_ranks(world);
    ASSERT_EQ(ranks.size(), 3u);
    for (const RankInfo& rank : ranks) {
      EXPECT_FALSE(rank.hostname.empty());
      EXPECT_EQ(rank.node, 0);
      EXPECT_EQ(rank.machine, 0);
      EXPECT_EQ(rank.pid, getpid());
      EXPECT_EQ(rank.core_set, 0);
      EXPECT_EQ(rank.cores, std::min<int>(usable_cores().cores.size(), usable_cores().most));
    }
    EXPECT_THAT(nodes_of(ranks), testing::ElementsAre(0, 0, 0));
    EXPECT_EQ(ranks_on_machine(ranks, world.rank), 3);
  });
}

TEST(Ranks, OfNodesWithTheirOwnShareHaveNoCoresInCommon) {
  const auto sets_on_two_nodes = [](const std::vector<int>& expected) {
    run_local_ranks(3, [&](Communicator& world) {
      const std::vector<RankInfo> ranks =
          survey_ranks(world, kDefaultTimeLimit_s, world.rank < 2 ? "node0" : "node1");
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        EXPECT_EQ(ranks[rank].core_set, expected[rank]);
        EXPECT_EQ(ranks[rank].machine, 0);
      }
    });
  };
  sets_on_two_nodes({0, 0, 0});
  setenv("MOELAB_BOX_CORE_SHARE", "0.5", 1);
  sets_on_two_nodes({0, 0, 1});
  unsetenv("MOELAB_BOX_CORE_SHARE");
}

TEST(Ranks, TextsOfAnyLengthArriveInRankOrder) {
  run_local_ranks(4, [](Communicator& world) {
    const std::string mine(world.rank * 3, static_cast<char>('a' + world.rank));
    EXPECT_THAT(gather_texts(world, mine, {}),
                testing::ElementsAre("", "bbb", "cccccc", "ddddddddd"));
  });
  run_local_ranks(2, [](Communicator& world) {
    EXPECT_THAT(gather_texts(world, "", {}), testing::ElementsAre("", ""));
  });
}

TEST(Ranks, TextOfRank0ArrivesOnEveryRank) {
  for (const std::string text : {"", "a", "abcd", "two\nlines"}) {
    run_local_ranks(3, [&](Communicator& world) {
      EXPECT_EQ(broadcast_text(world, world.rank == 0 ? text : "of nobody", {}), text);
    });
  }
}

}  // namespace
}  // namespace moe::ranks_test
