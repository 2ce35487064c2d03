#include "moe/kernels/add_returned.h"

#include <gtest/gtest.h>

#include "tests/moe/kernels/run_case.h"

namespace moe::test::add_returned_test {
namespace {

TEST(AddReturned, AddsEveryBlockToTheGradientOfItsExpert) {
  const auto backend = make_cpu_backend(1);
  // Two experts of two rows and a column, and of one row; blocks of experts 1, 1 and 0 have come
  // home.
  const HostTensor weights{6, 1, {1, 2, 3, 4, 5, 6}}, biases{3, 2, {7, 8, 9, 10, 11, 12}};
  const KernelCase add{"add returned",
                       AddReturned{{{}, 2}},
                       {weights, biases},
                       {{4, 1, {100, 200, 300, 400}}, {2, 2, {0.5, 0.5, 0.25, 0.25}}},
                       {{.ranges = {{1, 1}, {1, 1}, {0, 1}}}}};
  const auto sums = run_case(*backend, add, DType::f64);
  EXPECT_EQ(sums[0].values, (std::vector<double>{105, 206, 304, 406}));
  EXPECT_EQ(sums[1].values, (std::vector<double>{11.5, 12.5, 16.25, 18.25}));
}

}  // namespace
}  // namespace moe::test::add_returned_test
