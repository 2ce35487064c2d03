#include "tuner/study/processor_time.h"

#include <gtest/gtest.h>

namespace tuner::processor_time_test {
namespace {

TEST(ProcessorTime, WhatOthersTookIsWhatWasBusyAndNotOurs) {
  // 10 s on 4 processors; busy for 30 s, of them 20 s ours.
  const ProcessorTime before{100, 1000, 50, 4}, after{110, 1030, 70, 4};
  EXPECT_DOUBLE_EQ(share_of_others(before, after), 10.0 / 40);
  // Ticks round: never negative.
  EXPECT_EQ(share_of_others(before, {110, 1019.99, 70, 4}), 0);
  EXPECT_EQ(share_of_others(before, before), 0);
}

TEST(ProcessorTime, CountsThisProcess) {
  const ProcessorTime before = processor_time();
  EXPECT_GE(before.processors, 1);
  EXPECT_GT(before.busy_s, 0);
  ProcessorTime after = processor_time();
  while (after.own_s < before.own_s + 0.05) after = processor_time();
  EXPECT_GE(after.at_s, before.at_s);
  EXPECT_GE(after.busy_s, before.busy_s);
}

}  // namespace
}  // namespace tuner::processor_time_test
