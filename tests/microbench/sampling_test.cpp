#include "microbench/sampling.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <thread>

namespace microbench::sampling_test {
namespace {

TEST(Sampling, SpreadWorkedByHand) {
  EXPECT_NEAR(coefficient_of_variation({8, 10, 12}), 0.2, 1e-12);
  EXPECT_NEAR(coefficient_of_variation({1, 1, 3, 3}), std::sqrt(4.0 / 3) / 2, 1e-12);
  EXPECT_EQ(coefficient_of_variation({7}), 0);
}

TEST(Sampling, TakesTheSlowestRankAndTheSameDecisionsOnEveryRank) {
  std::vector<Samples> of_rank(3);
  moe::run_local_ranks(3, [&](moe::Communicator& world) {
    of_rank[world.rank] = sample(world, [&](int calls) { return calls * (1.0 + world.rank); },
                                 {.shortest_sample_s = 6, .budget_s = 10});
  });
  EXPECT_EQ(of_rank[0].calls_per_sample, 2);
  EXPECT_THAT(of_rank[0].seconds, testing::Each(3.0));
  EXPECT_EQ(of_rank[0].seconds.size(), 10u);
  EXPECT_EQ(of_rank[1].seconds, of_rank[0].seconds);
  EXPECT_EQ(of_rank[2].seconds, of_rank[0].seconds);
  ASSERT_EQ(of_rank[0].by_rank.size(), 3u);
  EXPECT_THAT(of_rank[0].by_rank[1], testing::Each(2.0));
  EXPECT_EQ(of_rank[2].by_rank, of_rank[0].by_rank);
}

TEST(Sampling, AGivenNumberOfCallsIsTimedWhateverTheBudgetAndTheNoise) {
  moe::run_local_ranks(2, [](moe::Communicator& world) {
    int calls_made = 0;
    const auto timed = [&](int calls) {
      calls_made += calls;
      return calls * (1.0 + calls_made % 7);
    };
    const Samples samples =
        sample(world, timed, {.warm_up = 3, .iterations = 50, .budget_s = 1e-9});
    EXPECT_EQ(samples.seconds.size(), 17u);
    EXPECT_EQ(samples.calls_per_sample, 3);  // 50 / 20, rounded up
    EXPECT_EQ(calls_made, 3 + 17 * 3);
    EXPECT_EQ(sample(world, timed, {.iterations = 4}).seconds.size(), 4u);
  });
  EXPECT_EQ(fixed_samples(0).samples, 0);
  for (const int iterations : {1, 7, 20, 21, 40, 41, 1000, 1'000'000'000}) {
    const FixedSamples fixed = fixed_samples(iterations);
    EXPECT_LE(fixed.samples, kRepetitions);
    EXPECT_GE(fixed.samples * fixed.calls, iterations);
    EXPECT_LT((fixed.samples - 1) * fixed.calls, iterations) << "a sample too many";
  }
}

TEST(Sampling, BudgetEndsWhatNeverSettles) {
  moe::run_local_ranks(1, [](moe::Communicator& world) {
    double value = 1;
    const auto start = std::chrono::steady_clock::now();
    const Samples samples =
        sample(world,
               [&](int) {
                 std::this_thread::sleep_for(std::chrono::milliseconds(10));
                 return value = value > 10 ? 1 : value * 1.7;
               },
               {.shortest_sample_s = 0, .relative_error = 1e-6, .budget_s = 0.2});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_GE(samples.seconds.size(), 3u);
    EXPECT_LT(took.count(), 2);
  });
}

}  // namespace
}  // namespace microbench::sampling_test
