#include "moe/rows/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/rows/groups.h"

namespace moe::rows_layout_test {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view text, int ranks) {
  try {
    return to_text(parse_layout(text, ranks));
  } catch (const Refusal& error) {
    return error.what();
  }
}

TEST(Layout, ExpertsTakeWhatIsLeft) {
  EXPECT_EQ(parse_layout("", 4), (Layout{1, 4, 1}));
  EXPECT_EQ(parse_layout("esp=2", 8), (Layout{1, 4, 2}));
  EXPECT_EQ(parse_layout("esp=2,dp=2", 8), (Layout{2, 2, 2}));
  EXPECT_EQ(parse_layout("dp=4,ep=1", 4), (Layout{4, 1, 1}));
}

TEST(Layout, ReadsWhatItWrites) {
  const Layout layout{2, 3, 4};
  EXPECT_EQ(to_text(layout), "dp=2,ep=3,esp=4,tp=1,pp=1");
  EXPECT_EQ(parse_layout(to_text(layout), 24), layout);
  EXPECT_EQ(layout_from_text(to_text(layout)), layout);
  EXPECT_EQ(layout_from_text("pp=4,esp=2"), (Layout{1, 1, 2, 1, 4}));
  EXPECT_THROW(layout_from_text("dp=2 ep=2"), Refusal);
}

TEST(Layout, NamesTheNearestThatDivide) {
  EXPECT_EQ(
      error_of("dp=3,ep=2", 4),
      "layout dp=3,ep=2 makes 6 ranks, but there are 4: nearest: dp=2,ep=2,esp=1,tp=1,pp=1 or "
      "dp=4,ep=1,esp=1,tp=1,pp=1 or "
      "dp=1,ep=4,esp=1,tp=1,pp=1");
  EXPECT_THAT(error_of("esp=3", 4), HasSubstr("nearest: "));
  EXPECT_THAT(error_of("ep=2", 4),
              HasSubstr("2 ranks, but there are 4: nearest: dp=2,ep=2,esp=1,tp=1,pp=1"));
  EXPECT_THAT(error_of("dp=1000000,ep=1000000,esp=1000000", 4), HasSubstr("there are 4"));
}

TEST(Layout, TensorParallelRanksDivideTheOthers) {
  EXPECT_EQ(parse_layout("tp=2", 4), (Layout{1, 4, 1, 2}));
  EXPECT_EQ(parse_layout("ep=2,esp=2,tp=2", 4), (Layout{1, 2, 2, 2}));
  EXPECT_EQ(error_of("tp=3", 4), "layout: tp = 3 does not divide 4 ranks: expected 1, 2, 4");
  const Groups groups = make_groups(Layout{1, 4, 1, 2});
  EXPECT_EQ(members(groups, GroupKind::tensor, 3), (std::vector<int>{2, 3}));
  EXPECT_EQ(members(groups, GroupKind::data, 3), (std::vector<int>{1, 3}));
}

TEST(Layout, RefusesWhatIsNoDegree) {
  for (const char* text : {"np=2", "dp", "dp2", ",", "dp=1,,ep=2"}) {
    EXPECT_THAT(error_of(text, 2), HasSubstr("the keys are dp, ep, esp, tp")) << text;
  }
  for (const char* text : {"dp=0", "dp=-1", "dp=", "dp=2x", "dp= 2", "dp=99999999999", "dp=1.0"}) {
    EXPECT_THAT(error_of(text, 2), HasSubstr("expected a number from 1")) << text;
  }
  EXPECT_THAT(error_of("dp=1,dp=1", 1), HasSubstr("dp is given twice"));
}

TEST(Layout, RanksThatShareAnExpertAreNeighbours) {
  const Groups groups = make_groups(Layout{2, 2, 2});
  using Ranks = std::vector<int>;
  EXPECT_EQ(members(groups, GroupKind::expert_sharded, 5), (Ranks{4, 5}));
  EXPECT_EQ(members(groups, GroupKind::expert, 5), (Ranks{5, 7}));
  EXPECT_EQ(members(groups, GroupKind::expert_data, 5), (Ranks{1, 5}));
  EXPECT_EQ(members(groups, GroupKind::stage, 5), (Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Divisors, OfTheLargestNumberAreFound) {
  EXPECT_EQ(divisors(1), (std::vector<int>{1}));
  EXPECT_EQ(divisors(36), (std::vector<int>{1, 2, 3, 4, 6, 9, 12, 18, 36}));
  EXPECT_EQ(divisors(2147483647), (std::vector<int>{1, 2147483647}));
}

}  // namespace
}  // namespace moe::rows_layout_test
