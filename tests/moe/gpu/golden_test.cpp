#include <gtest/gtest.h>

#include <tuple>

#include "tests/moe/train/golden_step.h"

namespace moe::test::gpu_golden_test {
namespace {

class GoldenStepOnGpu : public ::testing::TestWithParam<std::tuple<int, GoldenSetting>> {};

TEST_P(GoldenStepOnGpu, EqualsPyTorch) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  expect_golden_step(std::get<0>(GetParam()), std::get<1>(GetParam()),
                     [] { return make_cuda_backend(0); });
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, GoldenStepOnGpu,
    ::testing::Combine(
        ::testing::Range(0, golden_cases()),
        ::testing::Values(
            GoldenSetting{{1, 1, 1}, DType::f64}, GoldenSetting{{1, 2, 1}, DType::f64},
            GoldenSetting{{2, 2, 1}, DType::f64}, GoldenSetting{{1, 1, 2}, DType::f64},
            GoldenSetting{{1, 2, 1, 2}, DType::f64}, GoldenSetting{{1, 2, 2, 2}, DType::f64},
            GoldenSetting{{1, 2, 2}, DType::f64}, GoldenSetting{{2, 1, 2}, DType::f64},
            GoldenSetting{{1, 1, 1}, DType::f32}, GoldenSetting{{1, 2, 1}, DType::f32})),
    [](const auto& info) { return golden_name(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace moe::test::gpu_golden_test
