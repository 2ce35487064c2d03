#include <gtest/gtest.h>

#include "tests/moe/train/layout_cases.h"

namespace moe::test::train_layout_test {
namespace {

struct LayoutOnThreads : ::testing::TestWithParam<LayoutCase> {};

TEST_P(LayoutOnThreads, GivesLossesGradientsAndPeak) {
  run_local_ranks(rank_count(GetParam().layout),
                  [](Communicator& world) { check_layout(GetParam(), world); });
}

const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(On4, LayoutOnThreads, ::testing::ValuesIn(layout_cases(4)), kName);
INSTANTIATE_TEST_SUITE_P(On8, LayoutOnThreads, ::testing::ValuesIn(layout_cases(8)), kName);

}  // namespace
}  // namespace moe::test::train_layout_test
