#include "moe/communicator/sum.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "moe/kernels/bf16.h"

namespace moe::sum_test {
namespace {

TEST(Sum, OfSumsAddsEachSetBeforeItAddsTheSets) {
  // 1 is lost in 2^24 and 2 is not, so the order shows.
  const float large = 16777216, one = 1;
  const std::vector<std::vector<const void*>> sets = {{&large}, {&one, &one}};
  float sum = 0;
  sum_of_sums(sets, &sum, 1, DType::f32);
  EXPECT_EQ(sum, large + 2);
  sum_in_order(std::vector<const void*>{&large, &one, &one}, &sum, 1, DType::f32);
  EXPECT_EQ(sum, large);
}

TEST(Sum, OfSumsMayReplaceAPart) {
  std::vector<double> first(3000, 1), second(3000, 2), third(3000, 4);
  const std::vector<std::vector<const void*>> sets = {{first.data(), second.data()},
                                                      {third.data()}};
  sum_of_sums(sets, third.data(), 3000, DType::f64);
  EXPECT_EQ(third, std::vector<double>(3000, 7));
}

TEST(Sum, OfBf16IsMadeInFloatAndRoundedOnce) {
  // In bf16, 256 + 1 is 256 again.
  const Bf16 large = 256.0f, one = 1.0f;
  const std::vector<const void*> parts{&large, &one, &one, &one};
  Bf16 sum = 0.0f;
  sum_in_order(parts, &sum, 1, DType::bf16);
  EXPECT_EQ(static_cast<float>(sum), 260.0f) << "259 rounds to 260, to even";
  sum_of_sums(std::vector<std::vector<const void*>>{{&large, &one}, {&one, &one}}, &sum, 1,
              DType::bf16);
  EXPECT_EQ(static_cast<float>(sum), 260.0f);
}

TEST(Sum, OfNothingIsRefused) {
  const std::vector<std::vector<const void*>> none, empty(1);
  float sum = 0;
  EXPECT_THROW(sum_of_sums(none, &sum, 1, DType::f32), std::invalid_argument);
  EXPECT_THROW(sum_of_sums(empty, &sum, 1, DType::f32), std::invalid_argument);
  EXPECT_THROW(sum_in_order({}, &sum, 1, DType::f32), std::invalid_argument);
}

}  // namespace
}  // namespace moe::sum_test
