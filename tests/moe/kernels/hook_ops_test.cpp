// Jitter against its definition.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::hook_ops_test {
namespace {

std::vector<double> jittered(const Jitter& jitter, const HostTensor& x, int step) {
  const auto backend = make_cpu_backend(1);
  return run_case(*backend,
                  {"jitter",
                   jitter,
                   {x, {1, 1, {static_cast<double>(step)}, true}},
                   {blank(x.rows, x.columns)}},
                  DType::f64)[0]
      .values;
}

TEST(KernelJitter, StaysWithinEpsilonAndFillsIt) {
  const HostTensor ones{100, 50, std::vector<double>(5000, 1.0)};
  const auto y = jittered({.epsilon = 0.1, .draw = {3}}, ones, 1);
  const auto [least, most] = std::minmax_element(y.begin(), y.end());
  EXPECT_GE(*least, 0.9);
  EXPECT_LT(*most, 1.1);
  EXPECT_LT(*least, 0.901);
  EXPECT_GT(*most, 1.099);
  double sum = 0;
  for (const double value : y) sum += value;
  EXPECT_NEAR(sum / 5000, 1, 0.004) << "deviation of a mean of 5000: 0.0008";
}

TEST(KernelJitter, DependsOnSeedStepAndThePlaceInTheBatchAlone) {
  const HostTensor whole{8, 5, std::vector<double>(40, 1.0)},
      half{4, 5, std::vector<double>(20, 1.0)};
  const Jitter jitter{.epsilon = 0.1, .draw = {3}};
  Jitter second = jitter, reseeded = jitter;
  second.draw.first_token = 4;
  reseeded.draw.seed = 4;
  const auto y = jittered(jitter, whole, 1);
  const auto tail = jittered(second, half, 1);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), y.begin() + 20));
  EXPECT_NE(jittered(jitter, whole, 2), y);
  EXPECT_NE(jittered(reseeded, whole, 1), y);
}

}  // namespace
}  // namespace moe::test::hook_ops_test
