#include "moe/train/collective_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::collective_order_test {
namespace {

/// A timeline in which every op of every rank lasts from its number to the next one.
struct CollectiveOrderTest : ::testing::Test {
  static constexpr int kRanks = 4;
  Groups groups = make_groups(kRanks, kRanks);
  Program program = build_iteration(test::small_model(DType::f32), groups, 0);
  Timeline timeline = [this] {
    Timeline even;
    for (int rank = 0; rank < kRanks; ++rank) {
      auto& spans = even.ranks.emplace_back();
      for (std::size_t op = 0; op < program.ops.size(); ++op) {
        spans.push_back({static_cast<int>(op), static_cast<double>(op), 1});
      }
    }
    return even;
  }();

  void shift(int rank, double by_s) {
    for (OpSpan& span : timeline.ranks[static_cast<std::size_t>(rank)]) span.start_s += by_s;
  }
  std::vector<double> starts() const {
    std::vector<double> of_ranks;
    for (const auto& spans : timeline.ranks) of_ranks.push_back(spans.at(0).start_s);
    return of_ranks;
  }
};

TEST_F(CollectiveOrderTest, WhatIsPossibleStaysAsItIs) {
  shift(2, 0.75);
  shift(1, -0.25);
  const ShiftedRanks shifted = shift_into_order(program, groups, timeline);
  EXPECT_EQ(shifted.worst.op, -1);
  EXPECT_EQ(starts(), (std::vector<double>{0, -0.25, 0.75, 0}));
}

TEST_F(CollectiveOrderTest, ARankWhoseClockIsWrongIsShiftedByAsLittleAsIsPossible) {
  for (const double wrong_s : {5.0, -5.0}) {
    for (const int rank : {1, 3}) {
      shift(rank, wrong_s);
      const ShiftedRanks shifted = shift_into_order(program, groups, timeline);
      EXPECT_NEAR(shifted.worst.apart_s, 4, 1e-9) << "all others had ended";
      EXPECT_TRUE(shifted.worst.ended_rank == rank || shifted.worst.begun_rank == rank);
      for (int other = 0; other < kRanks; ++other) {
        const double expected_s = other == rank ? (wrong_s > 0 ? 1 : -1) : 0;
        EXPECT_NEAR(starts()[static_cast<std::size_t>(other)], expected_s, 1e-9);
      }
      shift(rank, wrong_s > 0 ? -1 : 1);
    }
  }
}

TEST_F(CollectiveOrderTest, AnExchangeFromWhichNothingComesMayEndBefore) {
  for (auto& spans : timeline.ranks) {
    std::erase_if(spans, [&](const OpSpan& span) { return !exchanges_rows(program.ops[span.op]); });
    ASSERT_FALSE(spans.empty());
  }
  shift(1, 5);
  EXPECT_EQ(shift_into_order(program, groups, timeline).worst.op, -1);
}

TEST_F(CollectiveOrderTest, AClockWhoseRateChangedEndsTheSearch) {
  auto& spans = timeline.ranks[1];
  for (OpSpan& span : spans) span.start_s *= 2;
  EXPECT_GT(shift_into_order(program, groups, timeline).worst.apart_s, 0);
}

}  // namespace
}  // namespace moe::collective_order_test
