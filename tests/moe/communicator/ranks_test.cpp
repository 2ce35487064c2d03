#include "moe/communicator/ranks.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

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
