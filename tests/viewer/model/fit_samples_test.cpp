#include "viewer/model/fit_samples.h"

#include <gtest/gtest.h>

#include "db/fit_curve.h"
#include "db/load.h"
#include "tests/db/sample.h"

namespace viewer::fit_samples_test {
namespace {

// Run 1 measured on two nodes of machine 7, run 5 fitted it; run 2 is of another network, run 3 of
// another machine, run 4 of one node.
const std::map<std::int64_t, db::RunPlace> kPlaces{{1, {"bench", 7, "node0", "box 0.5 Gbit/s", 2}},
                                                   {2, {"bench", 7, "node0", "eth0", 2}},
                                                   {3, {"bench", 8, "node9", "box 0.5 Gbit/s", 2}},
                                                   {4, {"bench", 7, "node0", "", 1}},
                                                   {5, {"fit", 7, "node0", "", 0}},
                                                   {6, {"bench", 7, "node0", "box 0.5 Gbit/s", 2}}};

db::Fit link_fit() {
  db::Fit fit;
  fit.run_id = 5;
  fit.op = "all_to_all";
  fit.device = "cpu";
  fit.ranks = 4;
  fit.link = "inter_node";
  fit.network = "box 0.5 Gbit/s";
  fit.nodes = 2;
  fit.unit = "byte";
  fit.alpha_s = 1e-3;
  fit.beta_s_per_unit = 1e-6;
  return fit;
}

db::Measurement row_of(std::int64_t run, const std::string& op, std::int64_t bytes, double time_s) {
  db::Measurement row;
  row.run_id = run;
  row.op = op;
  row.device = "cpu";
  row.dtype = "f32";
  row.ranks = 4;
  row.bytes = bytes;
  row.time_s = time_s;
  return row;
}

TEST(FitSamples, OfACollectiveCountTheBytesThatARankSendsToOtherNodes) {
  const auto samples = measured_samples(link_fit(), {row_of(1, "all_to_all", 6000, 4e-3)}, kPlaces);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_DOUBLE_EQ(samples[0].units, 3000) << "half of its array";
  EXPECT_DOUBLE_EQ(db::fitted_s(link_fit(), samples[0].units), samples[0].seconds) << "on its line";
}

TEST(FitSamples, AreOutliersOfACurveByItsPoints) {
  db::Fit fit = link_fit();
  fit.points_json = "[[300, 0.002], [3000, 0.001]]";  // larger calls by another protocol
  fit.outliers = 1;
  fit.max_relative_residual = 0.1;
  const auto samples = measured_samples(
      fit, {row_of(1, "all_to_all", 6000, 1e-3), row_of(1, "all_to_all", 6000, 4e-3)}, kPlaces);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_FALSE(samples[0].is_outlier) << "it is on the curve";
  EXPECT_TRUE(samples[1].is_outlier) << "it is only on alpha and beta";
}

TEST(FitSamples, AreOfTheSameOpRanksMachineNetworkAndLink) {
  std::vector<db::Measurement> rows;
  for (const std::int64_t run : {2, 3, 4, 6}) rows.push_back(row_of(run, "all_to_all", 4000, 4e-3));
  rows.push_back(row_of(1, "all_reduce", 4000, 4e-3));
  rows.push_back(row_of(1, "all_to_all", 4000, 4e-3));
  rows.back().ranks = 2;
  rows.push_back(row_of(1, "all_to_all", 4000, 4e-3));
  rows.back().device = "cuda";
  rows.push_back(row_of(1, "all_to_all", 4000, 4e-3));
  rows.back().wrong = 3;
  rows.push_back(row_of(1, "all_to_all", 0, 4e-3));
  EXPECT_TRUE(measured_samples(link_fit(), rows, kPlaces).empty()) << "run 6 came after the fit";
}

TEST(FitSamples, WhatTheLineLeavesOutIsMarked) {
  db::Fit fit = link_fit();
  const std::vector<db::Measurement> rows = {row_of(1, "all_to_all", 6000, 4.1e-3),
                                             row_of(1, "all_to_all", 6000, 9e-3)};
  fit.outliers = 1;
  fit.max_relative_residual = 0.05;
  const auto samples = measured_samples(fit, rows, kPlaces);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_FALSE(samples[0].is_outlier);
  EXPECT_TRUE(samples[1].is_outlier);
  fit.outliers = 0;
  EXPECT_FALSE(measured_samples(fit, rows, kPlaces)[1].is_outlier) << "it has all";
}

TEST(FitSamples, OfProductsAreThoseOfTheirPrecisionAndOneProductEach) {
  db::Fit fit = link_fit();
  fit.op = "gemm";
  fit.link = fit.network = "";
  fit.nodes = 0, fit.ranks = 1;
  fit.unit = "flop";
  db::Measurement product = row_of(4, "expert_linear", 0, 8e-3);
  product.flops = 4e9;
  product.parameters_json = R"({"experts": 4})";
  db::Measurement bf16 = product, f64 = product;
  bf16.dtype = "bf16", f64.dtype = "f64";
  auto samples = measured_samples(fit, {product, bf16, f64}, kPlaces);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_DOUBLE_EQ(samples[0].units, 1e9);
  EXPECT_DOUBLE_EQ(samples[0].seconds, 2e-3);
  for (const char* op : {"expert_linear_bf16", "expert_linear_f64", "gemm_f64"}) {
    fit.op = op;
    EXPECT_EQ(measured_samples(fit, {product, bf16, f64}, kPlaces).size(), 1U) << op;
  }
  fit.op = "linear";
  EXPECT_TRUE(measured_samples(fit, {product, bf16, f64}, kPlaces).empty());
}

TEST(FitSamples, KindsOfFitsAreTheirNamesWithoutShapeAndPrecision) {
  db::Fit fit = link_fit();
  fit.op = "linear_bf16[8 rows, 4x6]";
  EXPECT_TRUE(is_of_kind(fit, "linear"));
  EXPECT_FALSE(is_of_kind(fit, "expert_linear"));
  fit.op = "round_bf16";
  EXPECT_TRUE(is_of_kind(fit, "round_bf16")) << "a kind of its own";
}

TEST(FitSamples, OfCopiesCountWhatIsReadAndWritten) {
  db::Fit fit = link_fit();
  fit.op = "memory";
  fit.link = fit.network = "";
  const auto samples = measured_samples(fit, {row_of(4, "host_copy", 500, 1e-3)}, kPlaces);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_DOUBLE_EQ(samples[0].units, 1000);
}

TEST(FitSamples, OfAStudyAreTheSpansOfItsProfileWithoutWaiting) {
  db::Connection connection = db::open_writer(":memory:");
  const db::Sample sample = db::store_sample(connection);
  db::TimelineInfo timeline;
  timeline.run_id = sample.run;
  timeline.kind = "measured";
  std::vector<db::Span> spans = db::sample_spans();
  spans[1].waiting_s = 0.003;  // of 4 ms
  spans[4].waiting_s = 0.003;  // all of it
  db::insert(connection, timeline, db::sample_ops(), spans);
  db::Study study = *db::find_study(connection, "sample study");
  study.profile_runs_json = "[" + std::to_string(sample.run) + "]";
  db::update_study(connection, study);
  db::Run run = db::sample_run(sample.machine);
  run.kind = "study";
  run.name = study.name;
  db::Fit fit = link_fit();
  fit.run_id = db::insert(connection, run);
  fit.link = "";
  const auto samples = profile_samples(connection, fit);
  ASSERT_EQ(samples.size(), 1U) << "one size";
  EXPECT_NEAR(samples[0].seconds, 0.003, 1e-12) << "of 4 and 3 ms, and 1 ms of this";
  EXPECT_EQ(samples[0].units, 4000000);
  fit.op = "all_to_all_f64";
  EXPECT_EQ(profile_samples(connection, fit).size(), 1U) << "of a type, by its kind";
  fit.op = "all_to_all";
  fit.link = "inter_node";
  EXPECT_TRUE(profile_samples(connection, fit).empty()) << "no group of several nodes";
  fit.run_id = sample.run;
  fit.link = "";
  EXPECT_TRUE(profile_samples(connection, fit).empty()) << "a training's";
}

db::Measurement beside(std::int64_t run, const std::string& activity, const std::string& other,
                       double time_s) {
  db::Measurement row = row_of(run, "interference", 1000, time_s);
  row.parameters_json =
      R"({"activity": ")" + activity + R"(", "beside": ")" + other + R"(", "alone_s": 1})";
  return row;
}

TEST(FitSamples, InterferenceIsThatOfOnePlaceAndNewestOfEachPair) {
  std::vector<db::Measurement> rows = {beside(6, "gemm", "copy", 2), beside(3, "copy", "gemm", 4),
                                       beside(1, "gemm", "copy", 4), beside(1, "copy", "gemm", 8)};
  InterferenceMatrix matrix = interference_matrix(rows, kPlaces);
  ASSERT_EQ(matrix.activities, (std::vector<std::string>{"copy", "gemm"}));
  EXPECT_EQ(matrix.speed[1][0], 0.5) << "run 6, not run 1";
  EXPECT_EQ(matrix.speed[0][1], 0.125) << "run 1: run 3 is of another machine";
  EXPECT_FALSE(matrix.speed[0][0]) << "nobody measured it";
  EXPECT_EQ(matrix.where, "node0, cpu, 4 ranks, box 0.5 Gbit/s");
  rows.insert(rows.begin() + 1, beside(6, "gemm", "copy", 5));
  rows[1].bytes = 2000;
  EXPECT_EQ(interference_matrix(rows, kPlaces).speed[1][0], 0.2) << "the largest size of the run";
}

}  // namespace
}  // namespace viewer::fit_samples_test
