#include "db/compared_studies.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/db/opened.h"

namespace db::compared_studies_test {
namespace {

TEST(ComparedStudies, RatioAndIntervalAreThoseOfWelchsTest) {
  // Logarithms 0, 0.1, 0.2 and 0.4, 0.6: means 0.1 and 0.5, variances of the means 0.01 / 3 and
  // 0.02 / 2, Welch's degrees (0.04 / 3)^2 / ((0.01 / 3)^2 / 2 + 0.01^2) = 1.68: 1, t = 12.706.
  const std::vector<double> first{1, std::exp(0.1), std::exp(0.2)},
      second{std::exp(0.4), std::exp(0.6)};
  const ComparedTrial compared = compare_repeats(first, second);
  EXPECT_NEAR(compared.ratio.value(), std::exp(0.4), 1e-12);
  EXPECT_NEAR(compared.most_ratio.value(), std::exp(0.4 + 12.706 * std::sqrt(0.04 / 3)), 1e-2);
  EXPECT_EQ(compared.verdict, "not told apart");
}

TEST(ComparedStudies, WhatRepeatsTellApartIsSlowerOrFaster) {
  const std::vector<double> first{1, 1.01, 0.99}, second{1.3, 1.31, 1.29};
  EXPECT_EQ(compare_repeats(first, second).verdict, "slower");
  EXPECT_EQ(compare_repeats(second, first).verdict, "faster");
  EXPECT_EQ(compare_repeats(first, first).verdict, "not told apart");
  EXPECT_EQ(compare_repeats({1}, {2}).verdict, "one repeat");
  EXPECT_EQ(compare_repeats({1}, {2}).ratio, 2);
  EXPECT_EQ(compare_repeats({}, {2}).verdict, "only in the second");
  EXPECT_EQ(compare_repeats({2}, {}).verdict, "only in the first");
}

class TwoStudies : public testing::Test {
 protected:
  TwoStudies() {
    Study study;
    study.name = "later";
    study.ranks = 2;
    study.layout = "dp=1,ep=2,esp=1,tp=1";
    later = insert(connection, study);
    for (const char* planner : {"tutel", "fsmoe"}) {
      Trial trial = sample_trial(connection, later, planner);
      trial.id = find_or_insert(connection, trial);
      insert(connection, TrialRepeat{trial.id, 0, sample.run, 0.4, 5});
    }
  }
  Connection connection = open_writer(":memory:");
  Sample sample = store_sample(connection);
  std::int64_t later = 0;
};

TEST_F(TwoStudies, CandidatesAreSetAgainstEachOther) {
  const auto compared = compare_studies(connection, "sample study", "later");
  ASSERT_EQ(compared.size(), 3U);
  EXPECT_EQ(compared[0].planner, "sequential");
  EXPECT_EQ(compared[0].verdict, "only in the first");
  EXPECT_EQ(compared[1].planner, "tutel");
  EXPECT_NEAR(compared[1].ratio.value(), 4, 1e-12);
  EXPECT_EQ(compared[2].planner, "fsmoe");
  EXPECT_EQ(compared[2].verdict, "only in the second");
  EXPECT_EQ(kind_of([&] { compare_studies(connection, "sample study", "none"); }),
            ErrorKind::not_found);
}

TEST_F(TwoStudies, OtherMachinesAndNetworksAreNamed) {
  EXPECT_TRUE(differences_between(connection, "sample study", "later").empty());
  Machine machine = sample_machine("faster");
  machine.cpu = "a faster processor";
  db::Run run = sample_run(find_or_insert(connection, machine));
  run.network = "eth0 10 Gbit/s";
  const std::int64_t id = insert(connection, run);
  connection.database().exec("UPDATE trial_repeat SET run_id = " + std::to_string(id) +
                             " WHERE trial_id > 3");
  const auto differences = differences_between(connection, "sample study", "later");
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0],
            "machine_class of sample study: 4 cores of a processor, 16 GiB, of later: 4 "
            "cores of a faster processor, 16 GiB");
  EXPECT_EQ(differences[1], "network of sample study: not known, of later: eth0 10 Gbit/s");
}

}  // namespace
}  // namespace db::compared_studies_test
