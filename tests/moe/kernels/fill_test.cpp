#include "moe/kernels/fill.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tests/moe/kernels/fill_cases.h"

namespace moe::test::fill_test {
namespace {

TEST(Fill, GivesEachElementTheNumberOfItsPlaceOnAnyNumberOfThreads) {
  for (const int threads : {1, 3}) {
    const auto backend = make_cpu_backend(threads, Waiting::awake);
    for (const FillCase& fill : fill_cases()) {
      for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::remainder}) {
        EXPECT_EQ(filled(*backend, fill, dtype), expected_values(fill, dtype))
            << fill.name << " in " << name_of(dtype);
      }
    }
  }
}

TEST(Fill, RefusesIntegersAndMoreValuesThanElements) {
  const auto backend = make_cpu_backend(1);
  FillCase fill = fill_cases().back();
  EXPECT_THROW(backend->fill({backend->arena(256), DType::i32, 4, 1}, {}), std::logic_error);
  fill.values.held.count = fill.rows + 1;
  EXPECT_THROW(filled(*backend, fill, DType::f32), std::logic_error);
}

TEST(ExactLog, IsWithinTwoUlpOfTheLogarithm) {
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double x = unit(mix(i)), expected = std::log(x);
    EXPECT_NEAR(exact_log(x), expected, -4.5e-16 * expected) << x;
  }
  EXPECT_EQ(exact_log(1), 0);
  EXPECT_NEAR(exact_log(0x1p-53), -53 * std::log(2.0), 1e-14);
}

TEST(ExactCosine, IsWithinTwoUlpOfTheCosineAndExactAtQuarters) {
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double turns = unit(mix(i));
    EXPECT_NEAR(exact_cosine(turns), std::cos(6.283185307179586 * turns), 8e-16) << turns;
  }
  EXPECT_EQ(exact_cosine(0), 1);
  EXPECT_EQ(exact_cosine(0.25), 0);
  EXPECT_EQ(exact_cosine(0.5), -1);
  EXPECT_EQ(exact_cosine(0.75), 0);
  EXPECT_EQ(exact_cosine(1), 1);
}

}  // namespace
}  // namespace moe::test::fill_test
