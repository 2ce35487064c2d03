#include "microbench/compare/compare.h"

#include <gmock/gmock.h>

#include <random>

#include "tests/microbench/sampled_row.h"

namespace microbench::compare_test {
namespace {

/// A run of cases of 1 KiB, 2 KiB ..., 20 samples each: about a millisecond, times `factor`.
std::vector<db::SampledMeasurement> sweep(int cases, double factor, double drift, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> of_case(0, drift), of_sample(0, 0.01);
  std::vector<db::SampledMeasurement> rows;
  for (int i = 0; i < cases; ++i) {
    db::SampledMeasurement& row = rows.emplace_back(all_reduce_row(std::int64_t{1024} << i));
    const double usual_s = 1e-3 * factor * std::exp(of_case(random));
    for (int sample = 0; sample < 20; ++sample) {
      row.quantiles.push_back(usual_s * std::exp(of_sample(random)));
    }
    std::ranges::sort(row.quantiles);
  }
  return rows;
}

TEST(Compare, EqualSweepsAreWithinNoiseAlsoWhereRunsDriftMoreThanTheirSamples) {
  for (const double drift : {0.0, 0.02, 0.08}) {
    for (unsigned seed = 0; seed < 100; seed += 2) {
      const Comparison c = compare(sweep(12, 1, drift, seed), sweep(12, 1, drift, seed + 1), 0.05);
      EXPECT_EQ(c.cases.size(), 12U);
      EXPECT_TRUE(drift > 0.05 || !c.has_regressed()) << drift << " " << seed;
      EXPECT_LE(c.count(Verdict::slower) + c.count(Verdict::faster), 1) << drift << " " << seed;
    }
  }
}

TEST(Compare, ASweepThatIsTenPercentSlowerIsTold) {
  for (const double drift : {0.0, 0.01, 0.03}) {
    for (unsigned seed = 0; seed < 40; seed += 2) {
      const Comparison c =
          compare(sweep(12, 1, drift, seed), sweep(12, 1.1, drift, seed + 1), 0.05);
      EXPECT_TRUE(c.has_regressed()) << drift << " " << seed;
      EXPECT_EQ(c.count(Verdict::faster), 0);
    }
  }
}

TEST(Compare, ACaseFarSlowerOfTooFewSamplesIsNotCalledNoise) {
  auto after = sweep(12, 1, 0, 2);
  after[4].quantiles = {3e-3, 3.1e-3, 3.2e-3};
  auto before = sweep(12, 1, 0, 1);
  before[4].quantiles.resize(5);
  const Comparison c = compare(before, after, 0.05);
  EXPECT_EQ(c.cases[4].verdict, Verdict::too_few_samples);
  EXPECT_EQ(c.count(Verdict::too_few_samples), 1);
}

TEST(Compare, OneSlowCaseIsNamedAndTheOthersAreNot) {
  auto after = sweep(12, 1, 0.01, 2);
  for (double& sample : after[4].quantiles) sample *= 1.3;
  const Comparison c = compare(sweep(12, 1, 0.01, 1), after, 0.05);
  EXPECT_EQ(c.count(Verdict::slower), 1);
  EXPECT_EQ(c.cases[4].verdict, Verdict::slower);
  EXPECT_EQ(c.verdict, Verdict::within_noise) << "of all cases together";
  EXPECT_TRUE(c.has_regressed());
  EXPECT_EQ(compare(after, sweep(12, 1, 0.01, 1), 0.05).count(Verdict::faster), 1);
}

/// A run in which every second case is noisy, within the run and from run to run.
std::vector<db::SampledMeasurement> uneven_sweep(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  auto rows = sweep(20, 1, 0, seed);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double noise = i % 2 == 0 ? 0.01 : 0.2, usual = std::exp(0.2 * noise * normal(random));
    for (double& sample : rows[i].quantiles)
      sample = 1e-3 * usual * std::exp(noise * normal(random));
    std::ranges::sort(rows[i].quantiles);
  }
  return rows;
}

TEST(Compare, NoisyCasesHideNoQuietOne) {
  for (unsigned seed = 0; seed < 40; seed += 2) {
    const auto before = uneven_sweep(seed);
    auto after = uneven_sweep(seed + 1);
    EXPECT_FALSE(compare(before, after, 0.05).has_regressed()) << seed;
    for (double& sample : after[8].quantiles) sample *= 1.1;
    const Comparison c = compare(before, after, 0.05);
    EXPECT_EQ(c.cases[8].verdict, Verdict::slower) << seed;
    EXPECT_EQ(c.count(Verdict::slower), 1) << seed;
    EXPECT_LT(c.cases[8].limit, c.cases[9].limit);
  }
}

TEST(Compare, SamplesThatAreAllAlikeHaveALimitToo) {
  auto before = sweep(6, 1, 0, 1), after = sweep(6, 1, 0, 2);
  for (auto* rows : {&before, &after}) {
    for (double& sample : rows->at(2).quantiles) sample = 1e-3;
  }
  EXPECT_EQ(compare(before, after, 0.05).cases[2].limit, 0.05);
}

TEST(Compare, AChangeBelowTheLeastIsNone) {
  const auto before = sweep(4, 1, 0, 1), after = sweep(4, 1.04, 0, 2);
  EXPECT_FALSE(compare(before, after, 0.05).has_regressed());
  EXPECT_EQ(compare(before, after, 0.01).count(Verdict::slower), 4);
}

TEST(Compare, CasesAreMatchedByAllThatMakesThemACase) {
  auto before = sweep(3, 1, 0, 1), after = sweep(4, 1, 0, 2);
  after[0].measurement.dtype = "bf16";
  after[1].quantiles.clear();
  const Comparison c = compare(before, after, 0.05);
  EXPECT_EQ(c.cases.size(), 1U);
  EXPECT_EQ(c.only_before, 1);
  EXPECT_EQ(c.only_after, 2);
  EXPECT_EQ(c.without_samples, 1);
}

TEST(Compare, InterferenceIsMatchedByItsActivities) {
  auto before = sweep(1, 1, 0, 1), after = sweep(1, 1, 0, 2);
  for (auto* rows : {&before, &after}) rows->front().measurement.op = "interference";
  before[0].measurement.parameters_json = R"({"activity":"copy","beside":"gemm","alone_s":1})";
  after[0].measurement.parameters_json = R"({"activity":"copy","beside":"gemm","alone_s":2})";
  EXPECT_EQ(compare(before, after, 0.05).cases.size(), 1U);
  after[0].measurement.parameters_json = R"({"activity":"copy","beside":"all","alone_s":2})";
  EXPECT_EQ(compare(before, after, 0.05).cases.size(), 0U);
}

TEST(Compare, PairsAreMatchedOnOtherHosts) {
  auto before = sweep(1, 1, 0, 1), after = sweep(1, 1, 0, 2);
  for (auto* rows : {&before, &after}) rows->front().measurement.op = "ping_pong";
  before[0].measurement.parameters_json = R"({"from":0,"from_host":"n0","to":1,"to_host":"n1"})";
  after[0].measurement.parameters_json = R"({"from":0,"from_host":"n4","to":1,"to_host":"n5"})";
  EXPECT_EQ(compare(before, after, 0.05).cases.size(), 1U);
  after[0].measurement.parameters_json = R"({"from":1,"from_host":"n5","to":0,"to_host":"n4"})";
  EXPECT_EQ(compare(before, after, 0.05).cases.size(), 0U) << "the other way";
}

}  // namespace
}  // namespace microbench::compare_test
