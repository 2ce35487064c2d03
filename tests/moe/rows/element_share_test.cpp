#include "moe/rows/element_share.h"

#include <gtest/gtest.h>

namespace moe::element_share_test {
namespace {

TEST(ElementShare, CoversEveryElementOnceInTheOrderOfRanks) {
  for (const int ranks : {1, 2, 3, 7}) {
    for (const std::int64_t count : {0, 1, 6, 7, 20, 1001}) {
      std::int64_t next = 5;
      for (int rank = 0; rank < ranks; ++rank) {
        const ElementRange share = element_share({5, count}, rank, ranks);
        EXPECT_EQ(share.begin, next);
        EXPECT_LE(share.count, largest_share(count, ranks));
        next += share.count;
      }
      EXPECT_EQ(next, 5 + count) << count << " elements of " << ranks << " ranks";
    }
  }
}

TEST(ElementShare, LeavesWhatIsOverToTheLastRank) {
  EXPECT_EQ(element_share({0, 11}, 0, 4), (ElementRange{0, 2}));
  EXPECT_EQ(element_share({0, 11}, 3, 4), (ElementRange{6, 5}));
  EXPECT_EQ(largest_share(11, 4), 5);
}

}  // namespace
}  // namespace moe::element_share_test
