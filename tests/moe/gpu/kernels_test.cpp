// The table of ops and shapes on a CUDA device, compared with the processor in double.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/moe/kernels/kernel_cases.h"

namespace moe::test::gpu_kernels_test {
namespace {

class CudaKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    cuda_ = make_cuda_backend(0);
  }

  static std::vector<KernelCase> all_cases() {
    std::vector<KernelCase> cases = kernel_cases();
    for (KernelCase& kernel : large_kernel_cases()) cases.push_back(std::move(kernel));
    for (KernelCase& kernel : wide_kernel_cases()) cases.push_back(std::move(kernel));
    return cases;
  }

  void expect_like_cpu(DType real, double tolerance) {
    for (const KernelCase& kernel : all_cases()) {
      SCOPED_TRACE(kernel.name);
      const auto expected = run_case(*cpu_, kernel, DType::f64);
      const auto actual = run_case(*cuda_, kernel, real);
      for (std::size_t i = 0; i < results_of(kernel); ++i) {
        EXPECT_LT(relative_difference(actual[i].values, expected[i].values), tolerance)
            << "output " << i;
      }
    }
  }

  std::unique_ptr<Backend> cpu_ = make_cpu_backend(1);
  std::unique_ptr<Backend> cuda_;
};

TEST_F(CudaKernels, InDoubleAgreeWithTheProcessor) { expect_like_cpu(DType::f64, 1e-12); }

TEST_F(CudaKernels, InFloatAgreeWithTheProcessorInDouble) { expect_like_cpu(DType::f32, 2e-6); }

TEST_F(CudaKernels, InBf16AgreeWithTheProcessorInDouble) {
  for (const KernelCase& kernel : all_cases()) {
    EXPECT_THAT(deviations_in_bf16(*cuda_, kernel), ::testing::IsEmpty()) << kernel.name;
  }
}

TEST_F(CudaKernels, GiveTheSameBitsOnEveryRun) {
  for (const KernelCase& kernel : all_cases()) {
    const auto first = run_case(*cuda_, kernel, DType::f32);
    const auto second = run_case(*cuda_, kernel, DType::f32);
    for (std::size_t i = 0; i < results_of(kernel); ++i) {
      EXPECT_EQ(first[i].values, second[i].values) << kernel.name << ", output " << i;
    }
  }
}

TEST_F(CudaKernels, RefuseWhatACommunicatorExecutes) {
  const KernelCase all_reduce{"all_reduce", AllReduce{}, {blank(1, 4)}, {blank(1, 4)}};
  EXPECT_THROW(run_case(*cuda_, all_reduce, DType::f32), std::logic_error);
}

}  // namespace
}  // namespace moe::test::gpu_kernels_test
