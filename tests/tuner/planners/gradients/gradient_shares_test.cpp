#include "tuner/planners/gradients/gradient_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

#include "tests/tuner/planners/fsmoe/drawn_phase.h"
#include "tests/tuner/planners/gradients/evolved_shares.h"
#include "tuner/planners/fsmoe/fsmoe.h"

namespace tuner::gradient_shares_test {
namespace {

using namespace test;
using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(FsmoeGradients, FirstStepWorkedByHand) {
  // t_grad(n) = 1 + 0.5 n. Nothing exists in the first part; in the second 10 do and 3 s hide 4 of
  // them; in the third 6 + 2 and 11 s hide all.
  const std::vector<BackwardPart> parts{{5, 10}, {3, 2}, {11, 7}};
  const GradientShares shares = fill_overlappable(parts, line(1, 0.5));
  EXPECT_THAT(shares.given, ElementsAre(DoubleEq(0), DoubleEq(4), DoubleEq(8)));
  EXPECT_DOUBLE_EQ(shares.left, 7);
}

TEST(FsmoeGradients, APartThatHidesNoMoreThanTheLaunchHasNone) {
  const std::vector<BackwardPart> parts{{0, 10}, {0.9, 0}, {2, 0}};
  EXPECT_THAT(fill_overlappable(parts, line(1, 0.5)).given,
              ElementsAre(DoubleEq(0), DoubleEq(0), DoubleEq(2)));
  // An all-reduce that costs its launch only takes all there is.
  EXPECT_THAT(fill_overlappable(parts, line(1, 0)).given,
              ElementsAre(DoubleEq(0), DoubleEq(0), DoubleEq(10)));
}

TEST(FsmoeGradients, NoByteIsLostOrReducedBeforeItExists) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    std::vector<BackwardPart> parts(1 + random() % 6);
    for (BackwardPart& part : parts) {
      part = {draw_between(random, 0.1, 10), random() % 3 ? draw_between(random, 1, 20) : 0};
    }
    const GradientShares shares = fill_overlappable(parts, line(0.3, 0.5));
    double exists = 0, given = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      given += shares.given[part];
      EXPECT_LE(given, exists + 1e-9);
      exists += parts[part].gradients;
      if (shares.given[part] > 0) {
        EXPECT_LE(0.3 + 0.5 * shares.given[part], parts[part].overlappable_s + 1e-9);
      }
    }
    EXPECT_NEAR(given + shares.left, exists, 1e-9);
  }
}

TEST(FsmoeGradients, RestExistsFromItsPartOnAndLeavesWhatStepOneGave) {
  const std::vector<BackwardPart> parts{{0, 10}, {3, 2}, {11, 7}};
  // Until the end of the second part 10 exist and 4 are given; of the third 12 and 6.
  const GradientRest rest = rest_after(parts, {{0, 4, 2}, 13});
  EXPECT_THAT(rest.most_until, ElementsAre(DoubleEq(0), DoubleEq(6), DoubleEq(6)));
  EXPECT_DOUBLE_EQ(rest.total, 13);
}

/// MoE layers that an all-reduce stretches, each with the degree that is then best, as Algorithm 1
/// finds it.
GradientRest drawn_rest(std::mt19937& random, int parts) {
  std::vector<MoePhase> phases;
  GradientRest rest;
  double exists = 0;
  for (int i = 0; i < parts; ++i) {
    phases.push_back(draw_phase(random, true));
    // Less than exists where step 1 has given some: not always more than until the part before.
    rest.most_until.push_back(std::max(exists - draw_between(random, 0.5, 20), 0.0));
    exists += draw_between(random, 1, 20);
  }
  rest.total = exists;
  rest.left_seconds = [](double size) { return size > 0 ? 0.3 + 0.5 * size : 0; };
  rest.seconds = [phases](int part, double size) {
    MoePhase phase = phases[static_cast<std::size_t>(part)];
    phase.gar_s = size > 0 ? 0.3 + 0.5 * size : 0;
    return degree_by_equations(phase, 8).seconds;
  };
  return rest;
}

/// The least over all ways to give whole quanta to parts.
double least_of_all(const GradientRest& rest, int quanta, std::size_t part, int given,
                    double seconds) {
  const double quantum = rest.total / quanta;
  if (part == rest.most_until.size())
    return seconds + rest.left_seconds((quanta - given) * quantum);
  double least = std::numeric_limits<double>::infinity();
  for (int x = 0; (given + x) * quantum <= rest.most_until[part] + 1e-9 && given + x <= quanta;
       ++x) {
    const double here = seconds + rest.seconds(static_cast<int>(part), x * quantum);
    least = std::min(least, least_of_all(rest, quanta, part + 1, given + x, here));
  }
  return least;
}

TEST(FsmoeGradients, SharesExactlyIsTheLeastOfAllWays) {
  std::mt19937 random(6);
  for (int i = 0; i < 20; ++i) {
    const GradientRest rest = drawn_rest(random, 1 + static_cast<int>(random() % 4));
    const GradientShares exact = share_exactly(rest, 7);
    EXPECT_NEAR(seconds_of_shares(rest, exact.given), least_of_all(rest, 7, 0, 0, 0), 1e-9);
    double until = 0;
    for (std::size_t part = 0; part < rest.most_until.size(); ++part) {
      until += exact.given[part];
      EXPECT_LE(until, rest.most_until[part] + 1e-9);
    }
    EXPECT_NEAR(until + exact.left, rest.total, 1e-9);
  }
  EXPECT_THROW(share_exactly({}, 0), std::invalid_argument);
}

TEST(FsmoeGradients, EvolutionComesNearTheExactOptimumAndKeepsToWhatExists) {
  std::mt19937 random(7);
  double worst = 0, best = 0;
  for (int i = 0; i < 10; ++i) {
    const GradientRest rest = drawn_rest(random, 6);
    const double exact_s = seconds_of_shares(rest, share_exactly(rest, 64).given);
    const std::vector<double> evolved = share_by_evolution(rest, 6000, 1);
    worst = std::max(worst, seconds_of_shares(rest, evolved) / exact_s - 1);
    best = std::min(best, seconds_of_shares(rest, evolved) / exact_s - 1);
    double until = 0;
    for (std::size_t part = 0; part < rest.most_until.size(); ++part) {
      until += evolved[part];
      EXPECT_LE(until, rest.most_until[part] + 1e-9);
    }
    // NLopt draws from a state of the whole process: the search before this one must leave no
    // trace.
    EXPECT_EQ(evolved, share_by_evolution(rest, 6000, 1));
  }
  EXPECT_LT(worst, 0.02);
  EXPECT_GT(best, -0.02) << "64 quanta are fine enough";
}

TEST(FsmoeGradients, NothingLeftIsSharedAtOnce) {
  GradientRest rest;
  rest.seconds = [](int, double) { return 2.0; };
  rest.left_seconds = [](double) { return 0.0; };
  rest.most_until = {0, 0};
  EXPECT_THAT(share_exactly(rest, 8).given, ElementsAre(0, 0));
  EXPECT_THAT(share_by_evolution(rest, 100, 1), ElementsAre(0, 0));
}

}  // namespace
}  // namespace tuner::gradient_shares_test
