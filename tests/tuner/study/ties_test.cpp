#include "tuner/study/ties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "db/console/statistics.h"

namespace tuner::ties_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Repeats of which the logarithms are given.
Repeats repeats(const std::map<int, double>& logarithms) {
  Repeats result;
  for (const auto& [number, value] : logarithms) result[number] = std::exp(value);
  return result;
}

TEST(Ties, TermsOfRepeatsAreTheirDifferencesWithinAGroup) {
  // Repeats 1 to 3 are linked by the second trial; nothing links 4 with them.
  const std::vector<Repeats> trials{
      repeats({{1, 1.0}, {2, 1.1}}), repeats({{2, 2.1}, {3, 2.4}}), repeats({{4, 5.0}}), {}};
  const RepeatTerms terms = repeat_terms(trials);
  ASSERT_EQ(terms.size(), 2u);
  const std::vector<double>& linked = terms[0].size() == 3 ? terms[0] : terms[1];
  ASSERT_EQ(linked.size(), 3u);
  EXPECT_NEAR(linked[1] - linked[0], 0.1, 1e-9);
  EXPECT_NEAR(linked[2] - linked[1], 0.3, 1e-9);
}

TEST(Ties, NoiseIsWhatTrialsAndRepeatsDoNotExplain) {
  // By hand: 0 - 0.2 - 1 + 1.4 = 0.2, so every residual is +-0.05 and s^2 = 4 x 0.0025 / 1.
  const std::vector<Repeats> two{repeats({{1, 0}, {2, 0.2}}), repeats({{1, 1}, {2, 1.4}})};
  const auto noise = differences_of(two).noise;
  ASSERT_TRUE(noise);
  EXPECT_EQ(noise->degrees, 1);
  EXPECT_NEAR(noise->deviation, 0.1, 1e-9);
  EXPECT_NEAR(least_difference(*noise, 2.0 / 2), 1.2706, 1e-4) << "two repeats that both have";
  const std::vector<Repeats> slower{repeats({{1, 0}, {2, 5.2}}), repeats({{1, 1}, {2, 6.4}})};
  EXPECT_NEAR(differences_of(slower).noise->deviation, 0.1, 1e-9)
      << "a repeat in which all is slower";
}

TEST(Ties, NoiseOfTrialsWithMoreRepeatsIsThatOfTheRepeatsTheyShare) {
  const std::vector<Repeats> some{repeats({{1, 0}, {2, 0.2}, {3, 7}}), repeats({{1, 1}, {2, 1.4}}),
                                  Repeats{}};
  EXPECT_EQ(differences_of(some).noise->degrees, 1);
  EXPECT_NEAR(differences_of(some).noise->deviation, 0.1, 1e-9);
}

TEST(Ties, NoiseOfOneRepeatIsNotKnown) {
  const auto noise_of = [](const std::vector<Repeats>& trials) {
    return differences_of(trials).noise;
  };
  EXPECT_FALSE(noise_of({{{1, 2.0}}, {{1, 3.0}}}));
  EXPECT_FALSE(noise_of({{{1, 2.0}, {2, 2.1}}}));
  EXPECT_FALSE(noise_of({{{1, 2.0}, {2, 2.1}}, {{3, 3.0}, {4, 3.1}}})) << "no repeat in common";
  EXPECT_FALSE(noise_of({}));
  const std::vector<Repeats> once{{{1, 2.0}}, {{1, 2.0}}};
  EXPECT_THAT(ties(once, differences_of(once)), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(Ties, AreWhatRepeatsDoNotTellApart) {
  const std::vector<Repeats> trials{{{1, 1.00}, {2, 1.10}, {3, 1.21}},
                                    {{1, 0.80}, {2, 0.885}, {3, 0.965}},
                                    {{1, 0.801}, {2, 0.88}, {3, 0.97}},
                                    {}};
  Differences differences = differences_of(trials);
  const auto tied = ties(trials, differences);
  EXPECT_THAT(tied[0], IsEmpty());
  EXPECT_THAT(tied[1], ElementsAre(2));
  EXPECT_THAT(tied[2], ElementsAre(1));
  EXPECT_THAT(tied[3], IsEmpty());
  EXPECT_EQ(fastest(trials), 1U);
  EXPECT_TRUE(told_apart(differences, 0, 1));
  EXPECT_FALSE(told_apart(differences, 0, 3)) << "nothing in common";
  differences.noise->deviation = 0.1;
  EXPECT_FALSE(told_apart(differences, 0, 1)) << "in more noise";
  EXPECT_THROW(fastest(std::vector<Repeats>{{}}), std::invalid_argument);
}

TEST(Differences, OfTrialsThatOthersLink) {
  // Trials 0 and 2 have no repeat in common. Trial 1 was trained beside both, twice, on a machine
  // that was slower by 0.7 in the last two repeats. Trials 3 and 4 have only each other.
  const std::vector<Repeats> trials{
      repeats({{1, 1.0}, {2, 1.2}}), repeats({{1, 1.5}, {2, 1.7}, {3, 2.2}, {4, 2.4}}),
      repeats({{3, 2.5}, {4, 2.7}}), repeats({{5, 1.0}}),
      repeats({{5, 3.0}}),           {}};
  const Differences differences = differences_of(trials);
  EXPECT_NEAR(differences.estimate[0][1], -0.5, 1e-9);
  EXPECT_NEAR(differences.estimate[2][1], 0.3, 1e-9);
  EXPECT_NEAR(differences.estimate[0][2], -0.8, 1e-9);
  EXPECT_NEAR(differences.variance[0][1], 2.0 / 2, 1e-9);
  EXPECT_NEAR(differences.variance[2][1], 2.0 / 2, 1e-9);
  EXPECT_NEAR(differences.variance[0][2], 2, 1e-9) << "the sum of both";
  EXPECT_NEAR(differences.variance[1][1], 0, 1e-9);
  EXPECT_NEAR(differences.estimate[4][3], 2, 1e-9);
  EXPECT_NEAR(differences.variance[4][3], 2, 1e-9) << "one repeat";
  EXPECT_TRUE(std::isinf(differences.variance[0][3]));
  EXPECT_TRUE(std::isinf(differences.variance[1][5]));
  EXPECT_TRUE(told_apart(differences, 0, 2));
  EXPECT_FALSE(told_apart(differences, 0, 3));
}

TEST(Differences, UseWhatTrialsBesideBothTell) {
  // By hand, least squares. Repeats 1 and 2, which both have, would say 0 of trials 0 and 1.
  const std::vector<Repeats> trials{repeats({{1, 0}, {2, 0}, {3, 0}, {4, 0}}),
                                    repeats({{1, 0}, {2, 0}}),
                                    repeats({{1, 0}, {2, 0}, {3, 1}, {4, 1}})};
  const Differences differences = differences_of(trials);
  EXPECT_NEAR(differences.estimate[0][1], -0.25, 1e-9);
  EXPECT_NEAR(differences.estimate[2][0], 0.5, 1e-9);
  EXPECT_NEAR(differences.variance[0][1], 0.875, 1e-9);
  EXPECT_NEAR(differences.variance[0][2], 2.0 / 4, 1e-9);
}

TEST(Differences, ThatOnlyOthersTellMustBeLarger) {
  // Trial 0 is faster than 1 and 2 by as much. Only trial 1 links it with 2.
  const std::vector<Repeats> trials{
      repeats({{1, 1.0}, {2, 1.0}, {5, 1.0}, {6, 1.0}}),
      repeats({{1, 1.1}, {2, 1.1}, {3, 1.1}, {4, 1.1}, {5, 1.1}, {6, 1.1}}),
      repeats({{3, 1.1}, {4, 1.1}})};
  Differences differences = differences_of(trials);
  EXPECT_NEAR(differences.variance[0][1], 2.0 / 4, 1e-9);
  EXPECT_NEAR(differences.variance[0][2], 2.0 / 4 + 2.0 / 2, 1e-9);
  const int degrees = differences.noise->degrees;
  differences.noise =
      Noise{0.1 / db::student_t(degrees), degrees};  // 0.1 tells with variances below 1
  EXPECT_TRUE(told_apart(differences, 0, 1));
  EXPECT_FALSE(told_apart(differences, 0, 2));
}

TEST(Differences, OfTheSameRepeatsAreTheirMeans) {
  const std::vector<Repeats> trials{repeats({{1, 1.0}, {2, 1.3}, {3, 1.1}}),
                                    repeats({{1, 0.5}, {2, 0.6}, {3, 0.9}}),
                                    repeats({{1, 0.1}, {2, 0.7}, {3, 0.4}})};
  const Differences differences = differences_of(trials);
  EXPECT_NEAR(differences.estimate[0][1], (0.5 + 0.7 + 0.2) / 3, 1e-9);
  EXPECT_NEAR(differences.estimate[1][2], (0.4 - 0.1 + 0.5) / 3, 1e-9);
  EXPECT_NEAR(differences.variance[0][1], 2.0 / 3, 1e-9);
  EXPECT_NEAR(differences.variance[0][2], 2.0 / 3, 1e-9);
  EXPECT_EQ(differences.noise->degrees, 4);
}

TEST(ComparableSeconds, AreMediansWhereAllTrialsHaveTheSameTurns) {
  const std::vector<Turns> trials{{{{1, 3}, 2.0}, {{1, 4}, 2.2}, {{2, 3}, 2.1}},
                                  {{{1, 3}, 1.0}, {{1, 4}, 1.1}, {{2, 3}, 1.05}}};
  const auto seconds = comparable_seconds(trials, 0);
  EXPECT_NEAR(seconds[0], 2.1, 1e-12);
  EXPECT_NEAR(seconds[1], 1.05, 1e-12);
}

TEST(ComparableSeconds, LeaveOutThatTheMachineWasSlowerInSomeRepeats) {
  // In repeats 3 and 4 everything takes a fifth longer. Trial 2 was measured in these alone: it is
  // the fastest, though its median is not.
  const std::vector<Turns> trials{{{{1, 3}, 2.0}, {{2, 3}, 2.02}, {{3, 3}, 2.4}, {{4, 3}, 2.4}},
                                  {{{1, 3}, 1.0}, {{2, 3}, 1.01}},
                                  {{{3, 3}, 1.14}, {{4, 3}, 1.14}},
                                  {}};
  const auto seconds = comparable_seconds(trials, 0);
  EXPECT_NEAR(seconds[2] / seconds[1], 0.95, 1e-9);
  EXPECT_NEAR(seconds[0] / seconds[1], 2, 1e-9);
  EXPECT_NEAR(seconds[0], 2.21, 1e-12) << "the reference keeps its median";
  EXPECT_TRUE(std::isinf(seconds[3]));
  EXPECT_THROW(comparable_seconds(trials, 3), std::invalid_argument);
}

TEST(ComparableSeconds, DisturbedIterationsDoNotMatter) {
  // Of trial 1 the first repeat has the median 1.6, the second 1.0.
  const std::vector<Turns> trials{
      {{{1, 3}, 2.0}, {{1, 4}, 2.0}, {{1, 5}, 2.0}, {{2, 3}, 2.0}, {{2, 4}, 2.0}},
      {{{1, 3}, 1.0}, {{1, 4}, 1.6}, {{1, 5}, 1.7}, {{2, 3}, 1.0}, {{2, 4}, 1.0}},
      {{{1, 3}, 1.5}, {{1, 4}, 1.5}, {{1, 5}, 1.5}, {{2, 3}, 1.5}, {{2, 4}, 1.5}}};
  EXPECT_THAT(comparable_seconds(trials, 0),
              ElementsAre(testing::DoubleNear(2, 1e-12), testing::DoubleNear(1, 1e-12),
                          testing::DoubleNear(1.5, 1e-12)));
}

TEST(RepeatsOf, LeaveOutThatTheMachineWasSlowerInSomeTurns) {
  // In turns 4 and 5 of repeat 1 all takes half as long again. Trial 1 has but one other turn: its
  // median is 1.5, and that of trial 0 is 2. Repeat 2 is that of trial 0 alone.
  const std::vector<Turns> trials{
      {{{1, 3}, 2.0}, {{1, 4}, 3.0}, {{1, 5}, 3.0}, {{1, 6}, 2.0}, {{1, 7}, 2.0}, {{2, 3}, 2.1}},
      {{{1, 3}, 1.0}, {{1, 4}, 1.5}, {{1, 5}, 1.5}},
      {}};
  const std::vector<Repeats> repeats = repeats_of(trials);
  ASSERT_EQ(repeats.size(), 3u);
  EXPECT_NEAR(repeats[0].at(1) / repeats[1].at(1), 2, 1e-12);
  EXPECT_NEAR(repeats[0].at(2), 2.1, 1e-12);
  EXPECT_EQ(repeats[1].size(), 1u);
  EXPECT_THAT(repeats[2], IsEmpty());
}

TEST(Fastest, IsNotMisledByRepeatsOnASlowerMachine) {
  EXPECT_EQ(fastest(std::vector<Repeats>{{{1, 2.0}, {2, 2.02}, {3, 2.4}, {4, 2.4}},
                                         {{1, 1.0}, {2, 1.01}},
                                         {{3, 1.14}, {4, 1.14}}}),
            2U);
}

}  // namespace
}  // namespace tuner::ties_test
