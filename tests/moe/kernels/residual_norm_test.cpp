#include "moe/kernels/residual_norm.h"

#include <gtest/gtest.h>

#include "tests/moe/kernels/residual_norm_cases.h"

namespace moe::test::residual_norm_test {
namespace {

TEST(KernelResidualNorm, IsOneLaunchUnlessTheNormOverwritesRowsThatAreStillToBeRead) {
  for (const ResidualNormCase& one : residual_norm_cases()) {
    EXPECT_EQ(is_one_launch(one, DType::f32), one.place != NormPlace::a_row_further) << one.name;
  }
}

TEST(KernelResidualNorm, IsOneLaunchOnlyForRowsOfOneType) {
  float wide[8] = {};
  const View written{wide, DType::f32, 2, 2};
  EXPECT_TRUE(rows_stay_apart(written, {wide, DType::f32, 2, 2}));
  EXPECT_TRUE(rows_stay_apart(written, {wide + 4, DType::f32, 2, 2}));
  EXPECT_FALSE(rows_stay_apart(written, {wide + 3, DType::f32, 2, 2}));
  EXPECT_FALSE(rows_stay_apart(written, {wide, DType::f32, 1, 4}));
  EXPECT_FALSE(rows_stay_apart(written, {wide, DType::bf16, 2, 2}));
}

}  // namespace
}  // namespace moe::test::residual_norm_test
