#include "moe/program/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "moe/program/groups.h"

namespace moe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::int64_t total(const std::vector<std::int64_t>& row) {
  return std::accumulate(row.begin(), row.end(), std::int64_t{0});
}

TEST(Routing, UniformGivesTheRemainderToTheFirst) {
  EXPECT_THAT(uniform_routing(0, 1, 3, 8).tokens[0], ElementsAre(3, 3, 2));
  EXPECT_NEAR(imbalance(uniform_routing(0, 2, 4, 8)), 1, 1e-12);
}

TEST(Routing, ZipfKeepsTheCountAndIsUnbalancedAsItsExponentSays) {
  const LayerRouting routing = zipf_routing(0, 4, 8, 1000, 1.2, 9);
  for (const auto& row : routing.tokens) EXPECT_EQ(total(row), 1000);
  double harmonic = 0;
  for (int e = 1; e <= 8; ++e) harmonic += std::pow(e, -1.2);
  EXPECT_NEAR(imbalance(routing), 8 / harmonic, 0.02);
  EXPECT_EQ(zipf_routing(0, 4, 8, 1000, 1.2, 9).tokens, routing.tokens) << "the seed decides";
}

TEST(Routing, ComesBackFromJson) {
  const Routing routing{{zipf_routing(3, 2, 4, 50, 1, 1), uniform_routing(5, 2, 4, 50)}};
  const Routing read = routing_from_json(to_json(routing));
  ASSERT_EQ(read.layers.size(), 2u);
  EXPECT_EQ(layer_of(read, 3).tokens, routing.layers[0].tokens);
  EXPECT_EQ(layer_of(read, 5).experts, 4);
  EXPECT_THROW(layer_of(read, 4), std::out_of_range);
}

TEST(Routing, SaysWhatJsonItExpected) {
  EXPECT_THAT([] { routing_from_json("[]"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("expected {\"layers\"")));
  EXPECT_THAT([] { routing_from_json(R"({"layers": [{"layer": 1, "tokens": [[1, 2], [3]]}]})"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("layer 1: rows of 2 and 1 experts")));
  EXPECT_THAT([] { routing_from_json(R"({"layers": [{"layer": 1, "tokens": [[1, -2]]}]})"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("negative")));
}

TEST(Groups, OfTwoExpertGroups) {
  const Groups groups = make_groups(6, 3);
  EXPECT_THAT(members(groups, GroupKind::expert, 4), ElementsAre(3, 4, 5));
  EXPECT_THAT(members(groups, GroupKind::expert_data, 4), ElementsAre(1, 4));
  EXPECT_THAT(members(groups, GroupKind::world, 4), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(index_in_group(groups, GroupKind::expert, 4), 1);
  EXPECT_EQ(index_in_group(groups, GroupKind::expert_data, 4), 1);
}

TEST(Groups, RefuseWhatDoesNotDivide) {
  EXPECT_THAT([] { make_groups(6, 4); }, ThrowsMessage<std::invalid_argument>(HasSubstr(
                                             "6 ranks do not divide into expert groups of 4")));
  EXPECT_THROW(make_groups(2, 2, {0}), std::invalid_argument);
}

}  // namespace
}  // namespace moe
