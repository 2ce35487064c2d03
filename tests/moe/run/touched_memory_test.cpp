#include "moe/run/touched_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace moe::touched_memory_test {
namespace {

struct TouchedMemoryTest : ::testing::Test {
  std::unique_ptr<Backend> backend = make_cpu_backend(1);
  std::byte* arena = backend->arena(std::int64_t{8} << 20);
};

TEST_F(TouchedMemoryTest, FindsTheHighestByteThatWasWritten) {
  TouchedMemory touched(*backend, arena, 1000);
  touched.cover(5'000'000);
  EXPECT_EQ(touched.end_of_touched(), 1000);
  for (const std::int64_t at : {1000, 4096, 1'048'576, 4'999'999}) {
    arena[at] ^= std::byte{1};
    EXPECT_EQ(touched.end_of_touched(), at + 1);
  }
}

TEST_F(TouchedMemoryTest, SeesZerosInTheFirstBytes) {
  TouchedMemory touched(*backend, arena, 0);
  touched.cover(4096);
  for (int i = 0; i < 8; ++i) arena[i] = std::byte{0};
  EXPECT_EQ(touched.end_of_touched(), 8);
}

TEST_F(TouchedMemoryTest, SeesWritesBeyondWhatWasPlanned) {
  TouchedMemory touched(*backend, arena, 0);
  touched.cover(4096);
  arena[4096 + 100] ^= std::byte{255};
  EXPECT_EQ(touched.end_of_touched(), 4096 + 101);
}

TEST_F(TouchedMemoryTest, LeavesWhatLiesBelowAsItIsWhereThePlanGrows) {
  TouchedMemory touched(*backend, arena, 0);
  touched.cover(4096);
  for (int i = 0; i < 4096; ++i) arena[i] = std::byte{7};
  touched.cover(8192);
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(arena[i], std::byte{7});
  EXPECT_EQ(touched.end_of_touched(), 4096);
}

TEST_F(TouchedMemoryTest, IsNotFooledByOneValueEverywhere) {
  for (int value = 0; value < 256; ++value) {
    TouchedMemory touched(*backend, arena, 0);
    touched.cover(1024);
    for (int i = 0; i < 1024; ++i) arena[i] = static_cast<std::byte>(value);
    // At most the last few bytes can equal the pattern by chance.
    EXPECT_GT(touched.end_of_touched(), 1024 - 4) << value;
  }
}

TEST_F(TouchedMemoryTest, BeginsAtAWordOfThePattern) {
  EXPECT_THROW(TouchedMemory(*backend, arena, 1001), std::invalid_argument);
}

}  // namespace
}  // namespace moe::touched_memory_test
