#include "moe/ops/collective.h"

#include <gtest/gtest.h>

namespace moe {
namespace {

// Worked by hand for 4 ranks: of an array of 4 blocks, all-gather and its kin move 3 over each
// link, all-reduce moves each of those twice, broadcast moves all 4.
TEST(BusFactor, OfFourRanks) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all_v, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 4), 1);
}

TEST(BusFactor, OfTwoRanksAndOfOne) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 2), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 1), 0);
}

TEST(Collective, IsFoundByTheNameThatTheDatabaseHas) {
  for (const Collective collective : {Collective::all_to_all, Collective::broadcast}) {
    EXPECT_EQ(collective_named(name_of(collective)), collective);
  }
  EXPECT_EQ(collective_named("gemm"), std::nullopt);
}

}  // namespace
}  // namespace moe
