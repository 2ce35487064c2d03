#include "moe/train/checkpoint/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace moe::train_checkpoint_checksum_test {
namespace {

TEST(Checksums, OfPiecesAreThoseOfTheWhole) {
  std::array<std::byte, 45> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(7 * i + 1);
  for (std::size_t size = 0; size <= all.size(); ++size) {
    const auto bytes = std::span(all).first(size);
    for (std::size_t step = 1; step <= 20; ++step) {
      PiecewiseChecksum sum(size);
      for (std::size_t i = 0; i < size; i += step) {
        sum.add(bytes.subspan(i, std::min(step, size - i)));
      }
      EXPECT_EQ(sum.value(), checksum(bytes)) << size << " by " << step;
    }
  }
}

/// Checkpoints of earlier versions have these.
TEST(Checksums, StayWhatTheyWere) {
  EXPECT_EQ(checksum_of_text(""), "0000000000000000");
  EXPECT_EQ(checksum_of_text("moelab"), "7e569ad1ab13a8da");
  EXPECT_EQ(checksum_of_text("the quick brown fox"), "017ec1572fb52d7e");
}

}  // namespace
}  // namespace moe::train_checkpoint_checksum_test
