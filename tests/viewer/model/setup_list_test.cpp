#include "viewer/model/setup_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace viewer::setup_list_test {
namespace {

db::SetupOverview setup(std::int64_t run, const std::string& settings, int ranks) {
  db::SetupOverview one;
  one.model = "mixtral-7b", one.cluster = "dgx-h100";
  one.setup.run_id = run, one.setup.settings = settings, one.setup.ranks = ranks;
  return one;
}

TEST(SetupList, GroupsAreOfOneSearchWithItsSettingsAndRanks) {
  const std::vector<db::SetupOverview> setups = {setup(9, "", 4), setup(9, "", 4), setup(9, "", 8),
                                                 setup(9, "a=1", 8), setup(2, "a=1", 8)};
  std::vector<std::size_t> sizes;
  for (const SetupGroup group : setup_groups(setups)) sizes.push_back(group.size());
  EXPECT_THAT(sizes, testing::ElementsAre(2, 1, 1, 1));
  EXPECT_EQ(setup_groups(setups)[1].data(), &setups[2]);
  EXPECT_TRUE(setup_groups({}).empty());
  EXPECT_EQ(group_name(setup_groups(setups)[2]), "run 9: mixtral-7b, 8 ranks of dgx-h100, a=1");
}

TEST(SetupList, ASetupIsNamedByWhatMemoryAskedFor) {
  db::PredictedSetup one;
  one.layout = "ep=4", one.micro_batches = 1;
  EXPECT_EQ(setup_name(one), "ep=4, 1 micro-batch");
  one.micro_batches = 2, one.shard_optimizer = 1, one.restored_blocks = 8, one.whole_blocks = 3;
  EXPECT_EQ(setup_name(one),
            "ep=4, 2 micro-batches, sharded optimizer, 8 blocks restored, 3 of them whole");
}

}  // namespace
}  // namespace viewer::setup_list_test
