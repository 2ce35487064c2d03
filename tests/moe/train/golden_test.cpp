#include <gtest/gtest.h>

#include <tuple>

#include "tests/moe/train/golden_step.h"

namespace moe::test::train_golden_test {
namespace {

class GoldenStep : public ::testing::TestWithParam<std::tuple<int, GoldenSetting>> {};

TEST_P(GoldenStep, EqualsPyTorch) {
  expect_golden_step(std::get<0>(GetParam()), std::get<1>(GetParam()),
                     [] { return make_cpu_backend(1); });
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, GoldenStep,
    ::testing::Combine(
        ::testing::Range(0, golden_cases()),
        ::testing::Values(
            GoldenSetting{{1, 1, 1}, DType::f64}, GoldenSetting{{1, 2, 1}, DType::f64},
            GoldenSetting{{1, 4, 1}, DType::f64}, GoldenSetting{{2, 2, 1}, DType::f64},
            GoldenSetting{{4, 1, 1}, DType::f64}, GoldenSetting{{1, 1, 2}, DType::f64},
            GoldenSetting{{1, 2, 1, 2}, DType::f64}, GoldenSetting{{1, 2, 2, 2}, DType::f64},
            GoldenSetting{{1, 2, 2}, DType::f64}, GoldenSetting{{2, 1, 2}, DType::f64},
            GoldenSetting{{1, 1, 1}, DType::f32}, GoldenSetting{{1, 4, 1}, DType::f32})),
    [](const auto& info) { return golden_name(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace moe::test::train_golden_test
