#include "moe/kernels/padding.h"

#include <gtest/gtest.h>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::padding_test {
namespace {

TEST(KernelPadding, OffsetsLeaveRoomForEveryExpertAndCountItsCopies) {
  const auto backend = make_cpu_backend(1);
  const KernelCase pad{"pad", PadOffsets{4}, {{1, 4, {0, 3, 3, 7}, true}}, {blank_integers(2, 4)}};
  EXPECT_EQ(run_case(*backend, pad, DType::f64)[0].values,
            (std::vector<double>{0, 4, 8, 12, 3, 0, 4, 0}));
}

TEST(KernelPadding, RowsOfTheSliceWithoutACopyBecomeZeros) {
  // 2 experts with room for 3 rows, of which 2 and 1 hold copies; all but rows 0 and 3.
  const auto backend = make_cpu_backend(1);
  const KernelCase clear{"clear",
                         ClearPadding{},
                         {{2, 3, {0, 3, 6, 2, 1, 0}, true}},
                         {{6, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}},
                         {{.chunk = {1, 2}, .ranges = {{1, 2}, {4, 1}}}}};
  EXPECT_EQ(run_case(*backend, clear, DType::f64)[0].values,
            (std::vector<double>{1, 2, 3, 4, 0, 0, 7, 8, 0, 0, 11, 12}));
}

}  // namespace
}  // namespace moe::test::padding_test
