// Initial values on a device: the bits of the processor.
#include <gtest/gtest.h>

#include "tests/moe/kernels/fill_cases.h"

namespace moe::test::gpu_fill_test {
namespace {

TEST(CudaFill, GivesTheBitsOfTheProcessor) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const auto cuda = make_cuda_backend(0);
  for (const FillCase& fill : fill_cases()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::remainder}) {
      EXPECT_EQ(filled(*cuda, fill, dtype), expected_values(fill, dtype))
          << fill.name << " in " << name_of(dtype);
    }
  }
}

}  // namespace
}  // namespace moe::test::gpu_fill_test
