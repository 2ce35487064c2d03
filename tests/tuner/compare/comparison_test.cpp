#include "tuner/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace tuner::comparison_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// [repeat]: what its turns take.
Turns turns(const std::map<int, std::vector<double>>& seconds) {
  Turns result;
  for (const auto& [repeat, of_repeat] : seconds) {
    for (std::size_t i = 0; i < of_repeat.size(); ++i) {
      result[repeat][static_cast<int>(i) + 3] = of_repeat[i];
    }
  }
  return result;
}

TEST(Comparison, ASpeedUpIsTheMedianRatioOfTheTurnsInCommon) {
  // The machine is slower by half in two turns, and one turn of the schedule is disturbed.
  const Turns sequential = turns({{1, {2, 3, 2, 2}}, {2, {2.2, 3.3}}, {3, {9, 9}}});
  const Turns schedule = turns({{1, {1, 1.5, 1, 8}}, {2, {1.1, 1.65}}});
  EXPECT_NEAR(speedup_over(sequential, schedule), 2, 1e-12);
  EXPECT_EQ(log_ratios(sequential, schedule).size(), 2u);
}

TEST(Comparison, ARepeatWithoutTurnsInCommonIsComparedByItsMedians) {
  EXPECT_NEAR(speedup_over({{1, {{0, 3.0}}}}, turns({{1, {1, 1.5, 2}}})), 2, 1e-12);
  EXPECT_NEAR(speedup_over(turns({{1, {3, 3}}}), turns({{2, {1, 1}}})), 3, 1e-12)
      << "no repeat in common";
}

TEST(Comparison, TheFastestHasTheLeastTime) {
  // Trial 2 was measured only while all took a fifth longer: its median is not the least.
  const ComparedSchedules all =
      compare({turns({{1, {2, 2}}, {2, {2, 2}}, {3, {2.4, 2.4}}, {4, {2.4, 2.4}}}),
               turns({{1, {1, 1}}, {2, {1, 1}}}),
               turns({{3, {1.14, 1.14}}, {4, {1.14, 1.14}}}),
               {}},
              0);
  EXPECT_EQ(all.reference, 0u);
  EXPECT_EQ(all.fastest, 2u);
  EXPECT_NEAR(all.seconds[0], 2.2, 1e-12) << "its median";
  EXPECT_NEAR(all.seconds[1], 2.2 / 2, 1e-12);
  EXPECT_NEAR(all.seconds[2], 2.2 / (2.4 / 1.14), 1e-12);
  EXPECT_TRUE(std::isinf(all.seconds[3]));
  EXPECT_TRUE(told_apart(all, 1, 2)) << "through the reference";
  EXPECT_THAT(tied_with(all, 1), IsEmpty());
}

TEST(Comparison, WithoutSequentialTheReferenceStandsInMostTurns) {
  const std::vector<Turns> trials{turns({{1, {2, 2}}}), turns({{1, {4, 4}}, {2, {4, 4}}}),
                                  turns({{1, {3, 3}}, {2, {3, 3}}})};
  EXPECT_EQ(compare(trials, {}).reference, 2u) << "the faster of two";
  EXPECT_EQ(compare(trials, 0).reference, 0u);
  EXPECT_THROW(compare({{}, {}}, 0), std::invalid_argument);
}

TEST(Comparison, OneRepeatTellsNothing) {
  const ComparedSchedules all = compare({turns({{1, {2, 2, 2}}}), turns({{1, {1, 1, 1}}})}, 0);
  EXPECT_FALSE(interval(all, 1, 0));
  EXPECT_FALSE(told_apart(all, 1, 0));
  EXPECT_THAT(tied_with(all, 1), ElementsAre(0));
}

TEST(Comparison, OfNoisyRepeatsIsTheSameEachTime) {
  const Turns sequential = turns({{1, {2, 2.1, 2.05, 1.9}}, {2, {2.02, 2, 2.2, 2.1}}});
  const Turns close = turns({{1, {1.98, 2.12, 2, 2}}, {2, {2.1, 1.9, 2.2, 2}}});
  const Turns fast = turns({{1, {1.0, 1.1, 1, 0.9}}, {2, {1, 1, 1.1, 1.02}}});
  const ComparedSchedules all = compare({sequential, close, fast}, 0);
  EXPECT_THAT(tied_with(all, 0), ElementsAre(1));
  EXPECT_THAT(tied_with(all, 2), IsEmpty());
  const auto range = interval(all, 2, 0).value();
  EXPECT_LT(range.least, all.speedups[2]);
  EXPECT_GT(range.most, all.speedups[2]);
  EXPECT_EQ(interval(all, 2, 0)->least, range.least);
  EXPECT_NEAR(interval(all, 0, 2)->least, 1 / range.most, 0.02);
}

/// ln of the ratio of two schedules that are equally fast, as in stored studies (README.md): most
/// turns differ by 6%, one of five by 20%, and repeats by 1%.
Turns equally_fast(std::mt19937& random, int repeats) {
  std::normal_distribution<double> normal;
  Turns result;
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    const double of_repeat = 0.01 * normal(random);
    for (int turn = 3; turn <= 10; ++turn) {
      const double of_turn = (random() % 5 == 0 ? 0.2 : 0.06) * normal(random);
      result[repeat][turn] = std::exp(of_repeat + of_turn);
    }
  }
  return result;
}

TEST(Comparison, OfEqualSchedulesFindsADifferenceInOneOfTwentyAtMost) {
  std::mt19937 random(45);
  constexpr int kStudies = 300;
  for (const int repeats : {2, 3, 4, 6}) {
    Turns one;
    for (const auto& [repeat, turns] : equally_fast(random, repeats)) {
      for (const auto& [turn, seconds] : turns) one[repeat][turn] = 1;
    }
    int told = 0;
    for (int i = 0; i < kStudies; ++i) {
      told += told_apart(compare({one, equally_fast(random, repeats)}, 0), 0, 1);
    }
    RecordProperty("false_differences_of_" + std::to_string(repeats) + "_repeats", told);
    EXPECT_LE(told, kStudies * 8 / 100) << repeats << " repeats";
    std::printf("%d repeats: %.1f%% false differences\n", repeats, 100.0 * told / kStudies);
  }
}

}  // namespace
}  // namespace tuner::comparison_test
