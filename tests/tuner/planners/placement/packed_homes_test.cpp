#include "tuner/planners/placement/packed_homes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tuner::packed_homes_test {
namespace {

using ::testing::ElementsAre;

TEST(PackedHomes, GiveTheHeaviestExpertToTheLeastLoadedMemberWithAFreeSlot) {
  EXPECT_THAT(packed_homes(std::vector<std::int64_t>{1, 4, 4, 1}, std::vector{2, 2}),
              ElementsAre(0, 0, 1, 1));
  // 9 to member 0, 8 to 1, 3 to 1 which has less, so that 1 is full: 2 to 0.
  EXPECT_THAT(packed_homes(std::vector<std::int64_t>{9, 8, 3, 2}, std::vector{2, 2}),
              ElementsAre(0, 1, 1, 0));
  EXPECT_THROW(packed_homes(std::vector<std::int64_t>{1, 2, 3}, std::vector{1, 1}),
               std::invalid_argument);
  EXPECT_THAT(packed_homes(std::vector<std::int64_t>{9, 8, 3}, std::vector{2, 1}),
              ElementsAre(0, 1, 0));
}

TEST(PackedHomes, LoadsOfMembersAreThoseOfTheirExperts) {
  EXPECT_THAT(
      loads_of_members(std::vector<std::int64_t>{9, 8, 3, 2}, std::vector<int>{0, 1, 1, 0}, 2),
      ElementsAre(11, 11));
}

}  // namespace
}  // namespace tuner::packed_homes_test
