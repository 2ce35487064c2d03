#include "db/collective_facts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace db::collective_facts_test {
namespace {

// Worked by hand for 4 ranks: of an array of 4 blocks, all-gather and its kin move 3 over each
// link, all-reduce moves each of those twice, broadcast and reduce move all 4.
TEST(BusFactor, OfFourRanks) {
  const std::map<std::string, double, std::less<>> expected = {
      {"all_reduce", 1.5},  {"all_gather", 0.75}, {"reduce_scatter", 0.75},
      {"all_to_all", 0.75}, {"broadcast", 1},     {"all_to_all_v", 0.75},
      {"reduce", 1}};
  for (const CollectiveFacts& collective : measured_collectives()) {
    ASSERT_TRUE(expected.contains(collective.name)) << collective.name;
    EXPECT_DOUBLE_EQ(*bus_factor(collective.name, 4), expected.find(collective.name)->second)
        << collective.name;
  }
}

TEST(BusFactor, OfTwoRanksAndOfOne) {
  EXPECT_DOUBLE_EQ(*bus_factor("all_reduce", 2), 1);
  EXPECT_DOUBLE_EQ(*bus_factor("all_to_all", 2), 0.5);
  EXPECT_DOUBLE_EQ(*bus_factor("all_reduce", 1), 0);
}

// Of 4 ranks on 2 nodes each sends half of its array to the other node.
TEST(LinkFactor, OfSeveralNodesIsWhatGoesBetweenThem) {
  for (const char* of_pairs : {"all_to_all", "all_to_all_v", "all_gather", "reduce_scatter"}) {
    EXPECT_DOUBLE_EQ(*link_factor(of_pairs, 4, 2), 0.5) << of_pairs;
    EXPECT_DOUBLE_EQ(*link_factor(of_pairs, 4, 4), 0.75) << of_pairs;
    EXPECT_DOUBLE_EQ(*link_factor(of_pairs, 4, 1), 0.75) << of_pairs;
    EXPECT_DOUBLE_EQ(*link_factor(of_pairs, 4, 0), 0.75) << "not known: " << of_pairs;
  }
  EXPECT_DOUBLE_EQ(*link_factor("all_reduce", 4, 2), 1.5) << "a ring";
  EXPECT_EQ(link_factor("gemm", 4, 2), std::nullopt);
}

TEST(BusFactor, OfAnythingElseIsNone) { EXPECT_EQ(bus_factor("gemm", 4), std::nullopt); }

}  // namespace
}  // namespace db::collective_facts_test
