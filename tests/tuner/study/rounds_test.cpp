#include "tuner/study/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace tuner::rounds_test {
namespace {

/// One turn a repeat.
using Repeats = std::map<int, double>;
std::vector<Turns> of(const std::vector<Repeats>& trials) {
  std::vector<Turns> turns;
  for (const Repeats& trial : trials) {
    Turns& of_trial = turns.emplace_back();
    for (const auto& [repeat, seconds] : trial) of_trial[repeat][0] = seconds;
  }
  return turns;
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Rounds, AllAreTrainedTwiceInTurns) {
  std::vector<Repeats> trials(3);
  Round round = next_round(of(trials), 0, 3);
  EXPECT_EQ(round.repeat, 1);
  EXPECT_THAT(round.trials, ElementsAre(0, 1, 2));
  trials = {{{1, 9}}, {{1, 5}}, {{1, 5}}};
  round = next_round(of(trials), 0, 3);
  EXPECT_EQ(round.repeat, 2);
  EXPECT_THAT(round.trials, ElementsAre(0, 1, 2));
  EXPECT_THAT(next_round(of(trials), 0, 1).trials, IsEmpty()) << "one repeat was asked for";
  EXPECT_THAT(next_round(of({}), std::nullopt, 3).trials, IsEmpty());
}

TEST(Rounds, WhatIsTiedGoesFirstBesideSequential) {
  // 0 is sequential, 1 and 2 are tied, 3 is told apart from them.
  std::vector<Repeats> trials{
      {{1, 10}, {2, 10.01}}, {{1, 5}, {2, 5.01}}, {{1, 5.005}, {2, 5}}, {{1, 8}, {2, 8.01}}};
  Round round = next_round(of(trials), 0, 3);
  EXPECT_EQ(round.repeat, 3);
  EXPECT_THAT(round.trials, ElementsAre(0, 1, 2));
  EXPECT_THAT(next_round(of(trials), std::nullopt, 3).trials, ElementsAre(1, 2));
  trials[0][3] = 10.02;
  trials[1][3] = 5.01;
  trials[2][3] = 5.012;
  round = next_round(of(trials), 0, 3);
  EXPECT_EQ(round.repeat, 4) << "repeat 3 was another training";
  EXPECT_THAT(round.trials, ElementsAre(0, 3))
      << "one of nine runs is left, and sequential's do not count: not enough for two";
  trials[0][4] = 10;
  trials[3][4] = 8.02;
  EXPECT_THAT(next_round(of(trials), 0, 3).trials, IsEmpty());
  EXPECT_THAT(next_round(of(trials), 0, 4).trials, ElementsAre(0, 1, 2)) << "four were asked for";
}

TEST(Rounds, ThoseThatJoinLaterAreTrainedBesideSequentialAndTheFastest) {
  // 0 is sequential, 1 the fastest; 3 and 4 come from a refinement.
  std::vector<Repeats> trials{
      {{1, 10}, {2, 10.01}}, {{1, 5}, {2, 5.01}}, {{1, 8}, {2, 8.01}}, {}, {}};
  Round round = next_round(of(trials), 0, 2);
  EXPECT_EQ(round.repeat, 3);
  EXPECT_THAT(round.trials, ElementsAre(3, 4, 0, 1));
  for (const std::size_t i : round.trials) trials[i][3] = 6;
  round = next_round(of(trials), 0, 2);
  EXPECT_EQ(round.repeat, 4);
  EXPECT_THAT(round.trials, ElementsAre(3, 4, 0, 1));
  for (const std::size_t i : round.trials) trials[i][4] = 6;
  EXPECT_THAT(next_round(of(trials), 0, 2).trials, IsEmpty());
}

TEST(Rounds, ANewPlannerIsTrainedBesideABaselineTrainedAgain) {
  // One repeat each, and 1 joins a study that was finished another day.
  std::vector<Repeats> trials{{{1, 52}}, {}};
  const Round round = next_round(of(trials), 0, 1);
  EXPECT_EQ(round.repeat, 2) << "never a repeat that others met another day";
  EXPECT_THAT(round.trials, ElementsAre(1, 0));
  trials[0][2] = 3.7;
  trials[1][2] = 3.6;
  EXPECT_THAT(next_round(of(trials), 0, 1).trials, IsEmpty());
}

TEST(Rounds, WhatAnInterruptedRoundLeftIsTrainedBesideABaselineTrainedAgain) {
  std::vector<Repeats> trials{{{1, 10}, {2, 10}}, {{1, 5}, {2, 5}}, {{1, 8}}};
  Round round = next_round(of(trials), 0, 2);
  EXPECT_EQ(round.repeat, 3);
  EXPECT_THAT(round.trials, ElementsAre(2, 0, 1));
  trials = {{{1, 10}}, {}, {}};
  round = next_round(of(trials), 0, 2);
  EXPECT_EQ(round.repeat, 2);
  EXPECT_THAT(round.trials, ElementsAre(0, 1, 2)) << "all lack runs";
}

TEST(Rounds, WhatTheFastestNeverMetIsTiedWithItOnlyWhereOthersDoNotTell) {
  // 3 comes from a refinement. It has no repeat in common with 2, which 0 and 1 tell from it.
  const std::vector<Repeats> trials{{{1, 10}, {2, 10.01}, {3, 10.02}, {4, 10}},
                                    {{1, 5}, {2, 5.01}, {3, 5}, {4, 5.01}},
                                    {{1, 8}, {2, 8.01}},
                                    {{3, 5.005}, {4, 5}}};
  const Round round = next_round(of(trials), 0, 4);
  EXPECT_EQ(round.repeat, 5);
  EXPECT_THAT(round.trials, ElementsAre(0, 1, 3));
}

TEST(Rounds, WhereNothingIsTiedAllAreTrainedAlike) {
  const std::vector<Repeats> trials{{{1, 10}, {2, 10.01}}, {{1, 5}, {2, 5}}, {{1, 8}, {2, 8.01}}};
  const Round round = next_round(of(trials), 0, 3);
  EXPECT_EQ(round.repeat, 3);
  EXPECT_THAT(round.trials, ElementsAre(0, 1, 2));
}

TEST(Rounds, NoneIsTrainedMoreThanTwiceAsOftenAsAsked) {
  std::vector<Repeats> trials{{{1, 5}, {2, 5.01}}, {{1, 5.01}, {2, 5}}};
  for (int i = 0; i < 10; ++i) {  // others that are slower, whose runs are left
    const double s = 8 + i;
    trials.push_back({{1, s}, {2, s * 1.0001}});
  }
  int rounds = 0;
  for (Round round = next_round(of(trials), std::nullopt, 3); !round.trials.empty();
       round = next_round(of(trials), std::nullopt, 3)) {
    ASSERT_LT(++rounds, 100);
    for (const std::size_t i : round.trials) {
      trials[i][round.repeat] = i < 2 ? (round.repeat + i) % 2 ? 5 : 5.01 : 8.0 + double(i) - 2;
    }
  }
  std::size_t runs = 0;
  for (const Repeats& repeats : trials) runs += repeats.size();
  EXPECT_EQ(runs, 36U) << "three of each on average";
  EXPECT_EQ(trials[0].size(), 7U) << "without sequential it stands in every round";
  EXPECT_EQ(trials[1].size(), 6U);
}

}  // namespace
}  // namespace tuner::rounds_test
