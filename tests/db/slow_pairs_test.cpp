#include "db/slow_pairs.h"

#include <gmock/gmock.h>

#include <random>

namespace db::slow_pairs_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Players "n0", "n1" ... whose speeds are 100, up to `noise` of it more or less.
PairSpeeds even(int players, double noise, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> factor(1 - noise, 1 + noise);
  PairSpeeds pairs;
  for (int from = 0; from < players; ++from) {
    pairs.names.push_back("n" + std::to_string(from));
    std::vector<double>& row = pairs.speed.emplace_back();
    for (int to = 0; to < players; ++to) row.push_back(100 * factor(random));
  }
  return pairs;
}

void slow_down(PairSpeeds& pairs, std::size_t player, double out, double in) {
  for (std::size_t other = 0; other < pairs.names.size(); ++other) {
    pairs.speed[player][other] *= out;
    pairs.speed[other][player] *= in;
  }
}

TEST(SlowPairs, ASlowCardIsNamedAmongAsFewAsThree) {
  for (const int players : {3, 4, 5, 8, 64}) {
    PairSpeeds pairs = even(players, 0.02);
    slow_down(pairs, 2, 0.3, 0.3);
    const JudgedPairs judged = judge_pairs(pairs);
    EXPECT_THAT(judged.findings(),
                ElementsAre(testing::MatchesRegex("n2: 0\\.(29|30|31) of the median, out and in")))
        << players;
  }
}

TEST(SlowPairs, NobodyIsNamedWhereAllAreAlike) {
  for (const int players : {2, 3, 4, 7, 16}) {
    for (const double noise : {0.0, 0.05, 0.2}) {
      for (unsigned seed = 0; seed < 50; ++seed) {
        PairSpeeds pairs = even(players, noise, seed);
        pairs.relative_error = noise / 2;
        EXPECT_THAT(judge_pairs(pairs).findings(), IsEmpty())
            << players << " " << noise << " " << seed;
      }
    }
  }
}

TEST(SlowPairs, OneDirectionOfACardIsNamed) {
  PairSpeeds out = even(6, 0), in = even(6, 0), both = even(6, 0);
  slow_down(out, 1, 0.5, 1);
  slow_down(in, 4, 1, 0.6);
  slow_down(both, 3, 0.5, 0.25);
  EXPECT_THAT(judge_pairs(out).findings(), ElementsAre("n1: 0.50 of the median, out"));
  EXPECT_THAT(judge_pairs(in).findings(), ElementsAre("n4: 0.60 of the median, in"));
  EXPECT_THAT(judge_pairs(both).findings(),
              ElementsAre("n3: 0.50 of the median, out, and 0.25 of the median, in"));
}

TEST(SlowPairs, ASinglePairIsNamedAndItsPlayersAreNot) {
  PairSpeeds pairs = even(5, 0.02);
  pairs.speed[1][3] = 41;
  EXPECT_THAT(judge_pairs(pairs).findings(), ElementsAre("n1 to n3: 0.41 of the median"));
}

TEST(SlowPairs, OfTwoOnlyADirectionCanBeSlow) {
  PairSpeeds pairs = even(2, 0);
  pairs.speed[1][0] = 25;
  EXPECT_THAT(judge_pairs(pairs).findings(), ElementsAre("n1 to n0: 0.25 of the other direction"));
}

TEST(SlowPairs, ALatencyIsToldInTimesOfTheMedian) {
  PairSpeeds pairs = even(4, 0);
  pairs.latency = true;
  slow_down(pairs, 0, 0.25, 0.25);
  EXPECT_THAT(judge_pairs(pairs).findings(), ElementsAre("n0: 4.0 times the median, out and in"));
}

TEST(SlowPairs, PairsWithoutASpeedAreLeftOut) {
  PairSpeeds pairs = even(4, 0);
  slow_down(pairs, 3, 0.3, 1);
  pairs.speed[0][1] = pairs.speed[1][2] = 0;
  for (std::vector<double>& row : pairs.speed) row[0] = 0;  // nobody sends to n0
  EXPECT_THAT(judge_pairs(pairs).findings(), ElementsAre("n3: 0.30 of the median, out"));
  for (std::vector<double>& row : pairs.speed) row.assign(4, 0);
  EXPECT_THAT(judge_pairs(pairs).findings(), IsEmpty());
}

TEST(SlowPairs, WhatIsSlowCanBeSaid) {
  PairSpeeds pairs = even(4, 0);
  slow_down(pairs, 3, 0.75, 1);
  EXPECT_THAT(judge_pairs(pairs).findings(), ElementsAre("n3: 0.75 of the median, out"));
  pairs.slow = 0.7;
  EXPECT_THAT(judge_pairs(pairs).findings(), IsEmpty());
}

TEST(SlowPairs, ManySlowPairsAreCounted) {
  PairSpeeds racks = even(12, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      if (i != j) racks.speed[i][j] = 50;
    }
  }
  const auto findings = judge_pairs(racks).findings();
  EXPECT_EQ(findings.size(), kMostSlowPairs + 1U);
  EXPECT_EQ(findings.back(), "and 4 more");
}

}  // namespace
}  // namespace db::slow_pairs_test
