#include "db/experts_in_order.h"

#include <gtest/gtest.h>

namespace db::experts_in_order_test {
namespace {

TEST(ExpertsInOrder, OnTheFirstMembersAreOneMoreWhereTheyDoNotDivide) {
  const ExpertsInOrder six{6, 4};  // 0 1 | 2 3 | 4 | 5
  EXPECT_EQ(six.most(), 2);
  EXPECT_FALSE(six.divide());
  EXPECT_EQ(six.first_of(1), 2);
  EXPECT_EQ(six.first_of(2), 4);
  EXPECT_EQ(six.first_of(3), 5);
  EXPECT_EQ(six.held_by(0), 2);
  EXPECT_EQ(six.held_by(3), 1);
  EXPECT_EQ(six.home_of(3), 1);
  EXPECT_EQ(six.home_of(4), 2);
  EXPECT_TRUE((ExpertsInOrder{8, 4}.divide()));
}

TEST(ExpertsInOrder, HaveTheHomeWhoseExpertsTheyAreAmong) {
  for (int experts = 1; experts <= 24; ++experts) {
    for (int members = 1; members <= experts; ++members) {
      const ExpertsInOrder all{experts, members};
      EXPECT_EQ(all.first_of(members), experts);
      for (int member = 0; member < members; ++member) {
        const int held = all.held_by(member);
        EXPECT_LE(held, all.most());
        EXPECT_GE(held, all.divide() ? all.most() : all.most() - 1);
        for (int i = 0; i < held; ++i) EXPECT_EQ(all.home_of(all.first_of(member) + i), member);
      }
    }
  }
}

}  // namespace
}  // namespace db::experts_in_order_test
