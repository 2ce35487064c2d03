#include "moe/kernels/sum_shares.h"

#include <gtest/gtest.h>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::sum_shares_test {
namespace {

TEST(SumShares, AddsBlocksOfRowsAndLeavesOtherSlicesAlone) {
  // Two shares of three rows of two columns, one block after the other.
  const KernelCase kernel{"sum",
                          SumShares{},
                          {{3, 4, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}}},
                          {{3, 2, {-1, -1, -1, -1, -1, -1}}},
                          {{.chunk = {1, 2}, .ranges = {{1, 2}}}}};
  const auto backend = make_cpu_backend(1);
  EXPECT_EQ(run_case(*backend, kernel, DType::f64)[0].values,
            (std::vector<double>{-1, -1, 33, 44, 55, 66}));
}

TEST(ExpertLinear, AddsItsShareOfTheBias) {
  const KernelCase kernel{"share",
                          ExpertLinear{1, 0.5},
                          {{1, 1, {3}}, {1, 2, {10, 20}}, {1, 2, {4, -8}}},
                          {{1, 2, {0, 0}}},
                          {{.ranges = {{0, 1}}}}};
  const auto backend = make_cpu_backend(1);
  EXPECT_EQ(run_case(*backend, kernel, DType::f64)[0].values, (std::vector<double>{32, 56}));
}

}  // namespace
}  // namespace moe::test::sum_shares_test
