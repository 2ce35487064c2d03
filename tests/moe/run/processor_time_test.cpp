#include "moe/run/processor_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace moe::processor_time_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<RankInfo> on_machines(const std::vector<int>& machines) {
  std::vector<RankInfo> ranks;
  for (const int machine : machines) ranks.emplace_back().machine = machine;
  return ranks;
}

TEST(ProcessorTime, WhatOthersTookIsWhatWasBusyAndNoRanks) {
  // 100 s on 4 processors, busy for 300 s; two ranks used 100 s each.
  const ProcessorTime one{100, 300, 100, 4};
  EXPECT_THAT(shares_of_others(std::vector{one, one}, on_machines({0, 0})),
              ElementsAre(DoubleNear(0.25, 1e-3), DoubleNear(0.25, 1e-3)));
}

TEST(ProcessorTime, EveryMachineTellsOfItsOwn) {
  const ProcessorTime calm{100, 101, 100, 4}, disturbed{100, 300, 100, 4};
  EXPECT_THAT(shares_of_others(std::vector{calm, disturbed}, on_machines({0, 1})),
              ElementsAre(DoubleNear(0, 1e-2), DoubleNear(0.5, 1e-3)));
}

TEST(ProcessorTime, RanksOfOneProcessUseItsTimeTogether) {
  std::vector<RankInfo> threads = on_machines({0, 0});
  for (RankInfo& rank : threads) rank.pid = 7;
  const ProcessorTime process{100, 300, 100, 4};
  EXPECT_THAT(shares_of_others(std::vector{process, process}, threads),
              ElementsAre(DoubleNear(0.5, 1e-3), DoubleNear(0.5, 1e-3)));
}

TEST(ProcessorTime, ATickIsNobodys) {
  EXPECT_THAT(shares_of_others(std::vector{ProcessorTime{0.01, 0.02, 0.005, 2}}, on_machines({0})),
              ElementsAre(0))
      << "what /proc/stat rounds to";
  EXPECT_THAT(shares_of_others(std::vector{ProcessorTime{10, 4, 5, 2}}, on_machines({0})),
              ElementsAre(0));
  EXPECT_THAT(shares_of_others(std::vector{ProcessorTime{}}, on_machines({0})), ElementsAre(0));
}

TEST(ProcessorTime, CountsThisProcess) {
  const ProcessorTime before = processor_time();
  EXPECT_GE(before.processors, 1);
  EXPECT_GT(before.busy_s, 0);
  ProcessorTime used;
  while (used.own_s < 0.05) used = processor_time() - before;
  EXPECT_GT(used.at_s, 0);
  EXPECT_GE(used.busy_s, 0);
}

}  // namespace
}  // namespace moe::processor_time_test
