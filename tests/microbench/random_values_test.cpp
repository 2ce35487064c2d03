#include "microbench/random_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "moe/kernels/bf16.h"
#include "moe/kernels/view.h"

namespace microbench::random_values_test {
namespace {

constexpr std::int64_t kRows = 96, kColumns = 64;

/// A matrix of kRows x kColumns in an arena of the CPU.
template <class T>
struct Matrix {
  std::unique_ptr<moe::Backend> backend = moe::make_cpu_backend(1);
  moe::View view{backend->arena(kRows * kColumns * sizeof(T)), moe::dtype_of<T>(), kRows, kColumns};
  std::vector<T> values() const {
    std::vector<T> result(kRows * kColumns);
    std::memcpy(result.data(), view.data, result.size() * sizeof(T));
    return result;
  }
};

template <class T>
std::vector<T> random_values(std::uint64_t which) {
  Matrix<T> matrix;
  fill_random(*matrix.backend, matrix.view, which);
  return matrix.values();
}

TEST(RandomValues, AreStandardNormal) {
  double sum = 0, squares = 0;
  int beyond_two = 0;
  const std::vector<float> values = random_values<float>(0);
  for (const float value : values) {
    sum += value;
    squares += double{value} * double{value};
    beyond_two += std::abs(value) > 2;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
  EXPECT_NEAR(beyond_two / count, 0.0455, 5 * std::sqrt(0.0455 / count));
}

TEST(RandomValues, AreTheSameInEveryRunAndOthersForEachOperand) {
  EXPECT_EQ(random_values<double>(3), random_values<double>(3));
  const std::vector<double> values = random_values<double>(3), others = random_values<double>(4);
  EXPECT_EQ(std::set<double>(values.begin(), values.end()).size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NE(values[i], others[i]) << i;
}

TEST(RandomValues, AreTheSameInEveryTypeButForItsRounding) {
  const std::vector<double> exact = random_values<double>(1);
  const std::vector<float> single = random_values<float>(1);
  const std::vector<moe::Bf16> half = random_values<moe::Bf16>(1);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(single[i], exact[i], 1e-6 * std::abs(exact[i])) << i;
    EXPECT_NEAR(static_cast<float>(half[i]), exact[i], std::abs(exact[i]) / 256) << i;
  }
}

TEST(RandomValues, MayBeOneNumber) {
  Matrix<float> matrix;
  fill_constant(*matrix.backend, matrix.view, -0.25);
  EXPECT_EQ(matrix.values(), std::vector<float>(kRows * kColumns, -0.25f));
}

}  // namespace
}  // namespace microbench::random_values_test
