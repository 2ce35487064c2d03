#include "microbench/harness.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "microbench/collectives/collectives.h"
#include "moe/errors.h"

namespace microbench::harness_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Sampling quick{.shortest_sample_s = 1e-4, .budget_s = 1};

/// A case whose call number i takes seconds[i], by its own account; the last one's time stays.
struct Scripted {
  std::vector<double> seconds;
  std::size_t calls = 0;
  std::int64_t wrong = 0;

  Plan plan(const std::string& name) {
    return {name, [this] {
              Case subject;
              subject.row.measurement.op = "scripted";
              subject.row.measurement.bytes = 100;
              subject.prepare = [] {};
              subject.timed = [this](int times) {
                const double each = seconds[std::min(calls, seconds.size() - 1)];
                ++calls;
                return each * times;
              };
              subject.verify = [this] { return wrong; };
              return subject;
            }};
  }
};

std::vector<Result> run_on_one_rank(const std::vector<Plan>& plans, const Sampling& sampling) {
  std::vector<Result> results;
  moe::run_local_ranks(1, [&](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", sampling};
    run_plans(bench, plans, [&](const Result& result) { results.push_back(result); });
  });
  return results;
}

TEST(Harness, ReportsEveryPlanOnceInOrder) {
  for (const int ranks : {1, 2}) {
    moe::run_local_ranks(ranks, [](moe::Communicator& world) {
      const auto backend = moe::make_cpu_backend(1);
      const Bench bench{world, world, *backend, moe::DType::f32, "cpu", quick};
      std::vector<std::int64_t> sizes;
      run_plans(bench, collective_plans(bench, {"all_reduce"}, {400, 8, 80}),
                [&](const Result& result) { sizes.push_back(result.measurement.bytes); });
      EXPECT_THAT(sizes, ElementsAre(400, 8, 80));
    });
  }
}

TEST(Harness, OneRanksFiguresAreThoseOfItsRepetitions) {
  Scripted scripted{.seconds = {5, 1, 2, 4}, .wrong = 2};  // 5: the call that warms up
  const auto results = run_on_one_rank({scripted.plan("a")}, {.shortest_sample_s = 1e-4});
  ASSERT_EQ(results.size(), 1u);
  const db::Measurement& m = results[0].measurement;
  EXPECT_DOUBLE_EQ(m.min_s, 1);
  EXPECT_DOUBLE_EQ(m.time_s, 4);  // of 1, 2, 4, 4, ...
  EXPECT_DOUBLE_EQ(m.max_s, 4);
  EXPECT_EQ(m.samples, kRepetitions);
  EXPECT_EQ(m.wrong, 2);
  EXPECT_DOUBLE_EQ(m.algorithm_bandwidth_bytes_per_s, 25);
  EXPECT_NEAR(results[0].cv, 0.2097, 1e-4);  // worked by hand from 1, 2 and eighteen 4
  ASSERT_EQ(results[0].quantiles.size(), 20u);
  EXPECT_DOUBLE_EQ(results[0].quantiles[1], 2);
  EXPECT_DOUBLE_EQ(results[0].p95_s, 4);
  ASSERT_EQ(results[0].ranks.size(), 1u);
  EXPECT_DOUBLE_EQ(results[0].ranks[0].min_s, 1);
}

TEST(Harness, AGivenNumberOfCallsIsThatOfOneRankToo) {
  for (const int iterations : {1, 7, 40}) {
    Scripted scripted{.seconds = {1}};
    const auto results =
        run_on_one_rank({scripted.plan("a")}, {.warm_up = 2, .iterations = iterations});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].measurement.samples, std::min(iterations, kRepetitions));
    EXPECT_EQ(static_cast<int>(scripted.calls), 2 + std::min(iterations, kRepetitions));
  }
}

TEST(Harness, ASpentBudgetEndsTheRepetitionsOfOneRank) {
  Plan slow{"slow", [] {
              Case subject;
              subject.prepare = [] {};
              subject.timed = [](int times) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20) * times);
                return 0.02 * times;
              };
              subject.verify = [] { return std::int64_t{0}; };
              return subject;
            }};
  const auto results = run_on_one_rank({slow}, {.shortest_sample_s = 0.005, .budget_s = 0.05});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_GE(results[0].measurement.samples, kSamplesWithoutBudget);
  EXPECT_LT(results[0].measurement.samples, kRepetitions);
}

TEST(Harness, GoogleBenchmarksOptionsAreForOneRank) {
  moe::run_local_ranks(2, [](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", quick};
    Scripted scripted{.seconds = {1}};
    try {
      run_plans(bench, {scripted.plan("a")}, [](const Result&) {}, {"--benchmark_format=json"});
      FAIL() << "nothing thrown";
    } catch (const moe::InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("--benchmark_format=json"));
      EXPECT_THAT(error.what(), HasSubstr("--format json"));
    }
  });
}

TEST(Harness, WrongOptionsOfGoogleBenchmarkAreNamed) {
  moe::run_local_ranks(1, [](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", quick};
    for (const std::string wrong : {"--benchmark_nonsense=1", "--benchmark_format=xml"}) {
      try {
        set_google_options(bench, {wrong});
        ADD_FAILURE() << wrong;
      } catch (const moe::InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr(wrong));
      }
    }
  });
}

}  // namespace
}  // namespace microbench::harness_test
