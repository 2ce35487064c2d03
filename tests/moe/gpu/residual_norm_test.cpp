// Sums and their norms in one launch on a device.
#include <gtest/gtest.h>

#include "tests/moe/kernels/residual_norm_cases.h"

namespace moe::test::gpu_residual_norm_test {
namespace {

TEST(CudaResidualNorm, GivesTheBitsOfASumAndANorm) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const auto cuda = make_cuda_backend(0);
  for (const ResidualNormCase& one : residual_norm_cases()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      EXPECT_EQ(residual_normed(*cuda, one, dtype, true), residual_normed(*cuda, one, dtype, false))
          << one.name << " in " << name_of(dtype);
    }
  }
}

}  // namespace
}  // namespace moe::test::gpu_residual_norm_test
