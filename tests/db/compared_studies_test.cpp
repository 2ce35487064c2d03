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

TEST_F(TwoStudies, CandidatesOfARefinementMatchThoseOfThePlanner) {
  connection.database().exec(
      "UPDATE trial SET parameters_json = '{\"forward_chunks\":2,\"refinement\":1}' "
      "WHERE study_id = 2 AND planner = 'tutel'");
  const auto compared = compare_studies(connection, "sample study", "later");
  ASSERT_EQ(compared.size(), 3U);
  EXPECT_NEAR(compared[1].ratio.value(), 4, 1e-12);
}

TEST_F(TwoStudies, CandidatesOfEqualParametersStayApart) {
  Trial trial = sample_trial(connection, later, "more");
  trial.planner = "tutel";
  trial.parameters_json = R"({"forward_chunks":2,"refinement":1})";
  trial.id = find_or_insert(connection, trial);
  insert(connection, TrialRepeat{trial.id, 0, sample.run, 0.3, 5});
  const auto compared = compare_studies(connection, "sample study", "later");
  ASSERT_EQ(compared.size(), 4U);
  EXPECT_NEAR(compared[1].ratio.value(), 4, 1e-12);
  EXPECT_EQ(compared[3].parameters, trial.parameters_json);
}

TEST_F(TwoStudies, OtherModelsAndSettingsAreNamed) {
  const auto differences = [&](const std::string& of_first, const std::string& of_second) {
    connection.database().exec("UPDATE study SET " + of_first + " WHERE id = 1");
    connection.database().exec("UPDATE study SET " + of_second + " WHERE id = 2");
    return differences_between(connection, "sample study", "later");
  };
  const auto model = [](const std::string& json) { return "model_json = '" + json + "'"; };
  const auto settings = [](const std::string& json) { return "settings_json = '" + json + "'"; };
  using Texts = std::vector<std::string>;
  const std::string tiny = model(R"({"name":"tiny","experts":8,"precision":"f32"})");
  EXPECT_EQ(differences(tiny, tiny), Texts{});
  EXPECT_EQ(differences(tiny, model(R"({"experts":64,"name":"tiny","precision":"bf16","new":1})")),
            (Texts{"experts of sample study: 8, of later: 64",
                   "precision of sample study: f32, of later: bf16"}));
  EXPECT_EQ(differences(tiny, model(R"({"name":"tiny","experts":8,"hooks":{"before":"x"}})")),
            (Texts{"hooks of sample study: {}, of later: {\"before\":\"x\"}"}));
  EXPECT_EQ(differences(tiny, model("")), Texts{}) << "not known";
  const std::string usual = settings(
      R"({"in_common":["steps","device","threads","memory_limit_bytes","routing","data","copy_gbps"],)"
      R"("steps":20,"device":"cpu","threads":1,"memory_limit_bytes":0,"routing":"","data":[],)"
      R"("copy_gbps":0.0,"repeats":3,"given":[{"name":"a","decisions":"{}"}]})");
  EXPECT_EQ(differences(usual, usual), Texts{});
  EXPECT_EQ(differences(usual, settings(R"({"steps":20,"repeats":5,"copy_gbps":0.0})")), Texts{});
  EXPECT_EQ(
      differences(
          usual,
          settings(
              R"({"in_common":["steps","device","threads","memory_limit_bytes","routing","data",)"
              R"("copy_gbps"],"steps":30,"device":"cuda","threads":2,"memory_limit_bytes":9,"routing":"zipf:1",)"
              R"("data":["a.txt"],"copy_gbps":8.0,"given":[{"name":"a","decisions":"{1}"}]})")),
      (Texts{"copy_gbps of sample study: 0.0, of later: 8.0",
             "data of sample study: [], of later: [\"a.txt\"]",
             "device of sample study: cpu, of later: cuda",
             "given a of sample study: {}, of later: {1}",
             "memory_limit_bytes of sample study: 0, of later: 9",
             "routing of sample study: \"\", of later: zipf:1",
             "steps of sample study: 20, of later: 30",
             "threads of sample study: 1, of later: 2"}));
}

TEST_F(TwoStudies, NetworksMatterBetweenNodesAndInABox) {
  db::Run run = sample_run(sample.machine);
  const std::int64_t other = insert(connection, run);
  connection.database().exec("UPDATE trial_repeat SET run_id = " + std::to_string(other) +
                             " WHERE trial_id > 3");
  const auto differ = [&](const std::string& network, const std::string& network_of_other) {
    connection.database().exec("UPDATE run SET network = '" + network + "'");
    connection.database().exec("UPDATE run SET network = '" + network_of_other +
                               "' WHERE id = " + std::to_string(other));
    return !differences_between(connection, "sample study", "later").empty();
  };
  EXPECT_FALSE(differ("eth0 1 Gbit/s", "eth0 10 Gbit/s")) << "one node";
  EXPECT_TRUE(differ("box 1 Gbit/s", "box 2 Gbit/s"));
  EXPECT_TRUE(differ("", "box 2 Gbit/s"));
  connection.database().exec("UPDATE run_rank SET node = rank");
  EXPECT_TRUE(differ("eth0 1 Gbit/s", "eth0 10 Gbit/s"));
  EXPECT_FALSE(differ("", "eth0 10 Gbit/s")) << "not known";
  EXPECT_FALSE(differ("eth0 1 Gbit/s", "eth0 1 Gbit/s"));
}

TEST_F(TwoStudies, OtherMachinesAndNetworksAreNamed) {
  EXPECT_TRUE(differences_between(connection, "sample study", "later").empty());
  Machine machine = sample_machine("faster");
  machine.cpu = "a faster processor";
  db::Run run = sample_run(find_or_insert(connection, machine));
  run.network = "box 10 Gbit/s";
  const std::int64_t id = insert(connection, run);
  connection.database().exec("UPDATE trial_repeat SET run_id = " + std::to_string(id) +
                             " WHERE trial_id > 3");
  const auto differences = differences_between(connection, "sample study", "later");
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0],
            "machine_class of sample study: 4 cores of a processor, 16 GiB, of later: 4 "
            "cores of a faster processor, 16 GiB");
  EXPECT_EQ(differences[1], "network of sample study: not known, of later: box 10 Gbit/s");
}

}  // namespace
}  // namespace db::compared_studies_test
