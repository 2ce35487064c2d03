#include "tuner/costs/fit_measurements.h"

#include <gtest/gtest.h>

#include "tuner/costs/fit_records.h"

namespace tuner::fit_measurements_test {
namespace {

db::Measurement row(const std::string& op, std::int64_t bytes, double flops, double time_s,
                    int ranks = 4) {
  db::Measurement m;
  m.run_id = 1;
  m.op = op;
  m.device = "cpu";
  m.ranks = ranks;
  m.bytes = bytes;
  m.flops = flops;
  m.samples = 1;
  m.time_s = time_s;
  return m;
}

std::vector<db::Fit> records_of(const std::vector<db::Measurement>& rows,
                                const std::map<std::int64_t, MeasuredOn>& measured_on) {
  std::vector<db::Fit> records;
  for (MeasuredFit& one : fit_measurements(rows, measured_on)) records.push_back(one.record);
  return records;
}

TEST(FitMeasurements, FitsEachOpOnItsLink) {
  std::vector<db::Measurement> rows;
  for (std::int64_t size = 1 << 10; size <= 1 << 24; size *= 4) {
    const double n = static_cast<double>(size);
    rows.push_back(row("all_to_all", size, 0, 1e-4 + 4e-9 * 0.75 * n));
    rows.push_back(row("linear", 0, n, 2e-6 + 1e-11 * n, 1));
    rows.push_back(row("host_copy", size, 0, 1e-6 + 1e-10 * 2 * n, 1));
  }
  rows.push_back(row("all_to_all", 1 << 20, 0, 100));
  rows.back().wrong = 3;
  const auto fits = records_of(rows, {{1, {7, "box 2 Gbit/s", 4}}});
  ASSERT_EQ(fits.size(), 4u);
  EXPECT_EQ(fits[0].op, "gemm") << "it does not depend on the network";
  EXPECT_EQ(fits[0].network, "");
  EXPECT_EQ(fits[0].nodes, 0);
  EXPECT_EQ(fits[0].machine_id, 7);
  EXPECT_EQ(fits[0].unit, "flop");
  EXPECT_NEAR(fits[0].beta_s_per_unit, 1e-11, 1e-15);
  EXPECT_EQ(fits[1].op, "linear");
  EXPECT_EQ(fits[1].unit, "flop");
  EXPECT_EQ(fits[2].op, "memory");
  EXPECT_EQ(fits[2].unit, "byte");
  EXPECT_NEAR(fits[2].beta_s_per_unit, 1e-10, 1e-14);
  EXPECT_EQ(fits[3].op, "all_to_all");
  EXPECT_EQ(fits[3].link, "inter_node");
  EXPECT_EQ(fits[3].network, "box 2 Gbit/s");
  EXPECT_EQ(fits[3].nodes, 4);
  EXPECT_EQ(fits[3].ranks, 4);
  EXPECT_EQ(fits[3].verdict, "good");
  EXPECT_NEAR(fits[3].alpha_s, 1e-4, 1e-9);
  EXPECT_NEAR(fits[3].beta_s_per_unit, 4e-9, 1e-13);
  EXPECT_EQ(records_of(rows, {{1, {7, "", 1}}})[3].link, "intra_node");
}

TEST(FitMeasurements, BetweenNodesCountWhatLeavesThem) {
  std::vector<db::Measurement> rows;
  for (std::int64_t size = 1 << 10; size <= 1 << 24; size *= 4) {
    rows.push_back(row("all_to_all", size, 0, 1e-4 + 8e-9 * 0.5 * static_cast<double>(size)));
  }
  const auto fits = fit_measurements(rows, {{1, {7, "box 2 x 1 Gbit/s", 2}}});
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_NEAR(fits[0].record.beta_s_per_unit, 8e-9, 1e-13) << "two ranks a node send half of it";
  EXPECT_DOUBLE_EQ(fits[0].units_per_byte, 0.5);
}

/// A sweep over 1 Gbit/s, as a box of two nodes measured it, and three sizes over 0.3 Gbit/s.
std::vector<db::Measurement> two_rates(std::int64_t fast_run, std::int64_t slow_run) {
  std::vector<db::Measurement> rows;
  const auto add = [&](std::int64_t run, std::int64_t bytes, double beta_s) {
    rows.push_back(row("all_to_all", bytes, 0, 29.6e-6 + beta_s * 0.5 * double(bytes), 2));
    rows.back().run_id = run;
  };
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 24; bytes *= 4) add(fast_run, bytes, 8.09e-9);
  add(fast_run, 1 << 19, 8.09e-9);
  for (const std::int64_t bytes : {1 << 18, 1 << 20, 1 << 22}) add(slow_run, bytes, 27e-9);
  return rows;
}

TEST(FitMeasurements, KeepsNetworksMachinesAndNodesApart) {
  const auto rows = two_rates(1, 2);
  const auto expect_apart = [&](const MeasuredOn& one, const MeasuredOn& other) {
    const auto fits = records_of(rows, {{1, one}, {2, other}});
    ASSERT_EQ(fits.size(), 2u);
    EXPECT_NEAR(fits[0].alpha_s, 29.6e-6, 1e-9);
    EXPECT_NEAR(fits[0].beta_s_per_unit, 8.09e-9, 1e-13);
    EXPECT_EQ(fits[0].samples, 9);
    EXPECT_EQ(fits[0].verdict, "good");
    EXPECT_NEAR(fits[1].beta_s_per_unit, 27e-9, 1e-13) << "the newest run comes last";
    EXPECT_EQ(fits[1].verdict, "too few samples");
  };
  expect_apart({7, "box 1 Gbit/s", 2}, {7, "box 0.3 Gbit/s", 2});
  expect_apart({7, "", 2}, {8, "", 2});
  expect_apart({7, "", 2}, {7, "", 1});
}

TEST(FitMeasurements, RowsOfAnotherRateThatNoNetworkTellsApartAreOutliers) {
  const auto fits = records_of(two_rates(4, 9), {{4, {7, "", 2}}, {9, {7, "", 2}}});
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_NEAR(fits[0].alpha_s, 29.6e-6, 1e-9);
  EXPECT_NEAR(fits[0].beta_s_per_unit, 8.09e-9, 1e-13);
  EXPECT_EQ(fits[0].outliers, 3);
  EXPECT_EQ(fits[0].verdict, "3 outliers left out");
}

TEST(FitMeasurements, KeepsProductsOfBf16AndF64Apart) {
  std::vector<db::Measurement> rows;
  for (const double flops : {1e9, 2e9}) {
    rows.push_back(row("linear", 0, flops, flops * 1e-11, 1));
    rows.push_back(row("linear", 0, flops, flops * 4e-12, 1));
    rows.back().dtype = "bf16";
    rows.push_back(row("linear", 0, flops, flops * 2e-11, 1));
    rows.back().dtype = "f64";
  }
  std::map<std::string, double> rates;
  for (const db::Fit& fit : records_of(rows, {})) rates[fit.op] = fit.beta_s_per_unit;
  ASSERT_EQ(rates.size(), 6u);
  EXPECT_NEAR(rates["gemm_f64"], 2e-11, 1e-15);
  EXPECT_NEAR(rates["linear_f64"], 2e-11, 1e-15);
  EXPECT_NEAR(rates["gemm"], 1e-11, 1e-15);
  EXPECT_NEAR(rates["linear"], 1e-11, 1e-15);
  EXPECT_NEAR(rates["gemm_bf16"], 4e-12, 1e-15);
  EXPECT_NEAR(rates["linear_bf16"], 4e-12, 1e-15);
}

db::Measurement beside(const std::string& y, const std::string& x, double alone_s, double time_s) {
  db::Measurement m = row("interference", 4096, 1e9, time_s, 2);
  m.parameters_json = R"({"activity":")" + y + R"(","beside":")" + x + R"(","alone_s":)" +
                      std::to_string(alone_s) + R"(,"overlap":1})";
  return m;
}

TEST(FitMeasurements, OfInterferenceAreSpeedsOfTheCostModel) {
  const std::vector<db::Measurement> rows{
      beside("computation", "copy", 1, 2),  beside("computation", "copy", 2, 4),
      beside("inter_node", "all", 1, 1.25), beside("computation", "memory_bound", 1, 1.6),
      beside("memory_bound", "copy", 1, 5), beside("copy", "memory_bound", 1, 5)};
  const auto fits = records_of(rows, {{1, {7, "", 1}}});
  ASSERT_EQ(fits.size(), 3u) << "no GEMMs, and nothing that the model does not know";
  for (const db::Fit& fit : fits) EXPECT_EQ(fit.unit, "second") << fit.op;
  EXPECT_EQ(fits[0].op, "computation_beside_computation");
  EXPECT_EQ(fits[1].op, "computation_beside_copy");
  EXPECT_NEAR(fits[1].beta_s_per_unit, 2, 1e-9);
  EXPECT_EQ(fits[1].samples, 2);
  EXPECT_EQ(fits[2].op, "inter_node_beside_all");

  auto stored = fits;
  stored.push_back(fits[1]);  // of another number of ranks: what comes first counts
  stored.back().beta_s_per_unit = 10;
  const CostModel costs = costs_of_records(stored, "cpu");
  EXPECT_TRUE(costs.fits.empty());
  EXPECT_NEAR(speed_of(costs.interference, Occupation::computation, Occupation::copy), 0.5, 1e-9);
  EXPECT_NEAR(speed_of(costs.interference, Occupation::computation, Occupation::computation), 0.625,
              1e-9);
  EXPECT_NEAR(*costs.interference.beside_all[1], 0.8, 1e-9);
  EXPECT_EQ(speed_of(costs.interference, Occupation::copy, Occupation::computation), 1);
}

TEST(FitMeasurements, OfInterferenceDeviateAsTheirRoundsDo) {
  std::vector<db::Measurement> rows{beside("copy", "computation", 1, 2)};
  rows[0].relative_deviation = 0.04;
  rows[0].samples = 16;
  auto fit = records_of(rows, {}).at(0);
  EXPECT_NEAR(fit.relative_deviation.value(), 0.04, 1e-12);
  EXPECT_NEAR(fit.beta_error_s_per_unit.value(), 2 * 0.04 / 4, 1e-12);
  EXPECT_EQ(fit.verdict, "good");
  rows.push_back(rows[0]);
  rows[1].time_s = 3;  // with other sizes
  fit = records_of(rows, {}).at(0);
  EXPECT_EQ(fit.samples, 32) << "rounds";
  EXPECT_GT(fit.relative_deviation.value(), 0.2);
  EXPECT_EQ(fit.verdict, "samples scatter");
}

TEST(FitMeasurements, OfInterferenceAreOfTheNewestRunThatHasThePair) {
  std::vector<db::Measurement> rows{beside("computation", "copy", 1, 2),
                                    beside("computation", "copy", 1, 4),
                                    beside("copy", "computation", 1, 2)};
  rows[1].run_id = 2;
  for (int order = 0; order < 2; ++order) {
    const auto fits = records_of(rows, {});
    ASSERT_EQ(fits.size(), 2u);
    EXPECT_EQ(fits[0].op, "computation_beside_copy");
    EXPECT_NEAR(fits[0].beta_s_per_unit, 4, 1e-9);
    EXPECT_EQ(fits[0].samples, 1);
    EXPECT_NEAR(fits[1].beta_s_per_unit, 2, 1e-9);
    std::swap(rows[0], rows[1]);
  }
}

TEST(FitMeasurements, CopiesToAndFromADeviceAreThoseOfOffloadedRows) {
  std::vector<db::Measurement> rows;
  for (std::int64_t size = 1 << 10; size <= 1 << 24; size *= 4) {
    const double n = static_cast<double>(size);
    rows.push_back(row("host_to_device", size, 0, 5e-6 + 4e-11 * n, 1));
    rows.push_back(row("device_to_host", size, 0, 6e-6 + 5e-11 * n, 1));
  }
  const auto fits = records_of(rows, {});
  ASSERT_EQ(fits.size(), 2u);
  EXPECT_EQ(fits[0].op, "fetch_rows");
  EXPECT_EQ(fits[0].unit, "byte");
  EXPECT_NEAR(fits[0].beta_s_per_unit, 2e-11, 1e-15);  // per byte read or written
  EXPECT_EQ(fits[1].op, "offload_rows");
  EXPECT_NEAR(fits[1].alpha_s, 6e-6, 1e-10);
}

TEST(FitMeasurements, AdditionsOnADeviceAreItsMemory) {
  std::vector<db::Measurement> rows;
  for (std::int64_t size = 1 << 20; size <= 1 << 26; size *= 4) {
    const double n = static_cast<double>(size);
    rows.push_back(row("device_add", size, 0, 4e-6 + 1e-12 * 3 * n, 1));
    rows.back().device = "cuda";
    rows.push_back(row("host_copy", size, 0, 1e-6 + 1e-10 * 2 * n, 1));
    rows.back().device = "cpu";
  }
  const auto fits = records_of(rows, {});
  ASSERT_EQ(fits.size(), 2u);
  for (const db::Fit& fit : fits) {
    EXPECT_EQ(fit.op, "memory");
    EXPECT_NEAR(fit.beta_s_per_unit, fit.device == "cuda" ? 1e-12 : 1e-10, 1e-14);
  }
}

TEST(FitMeasurements, GiveEveryExpertsProductItsStart) {
  std::vector<db::Measurement> rows;
  for (double n = 1e6; n <= 1e9; n *= 10) {
    for (const int experts : {1, 4}) {
      rows.push_back(row("expert_linear", 0, n, experts * 3e-6 + 1e-11 * n, 1));
      rows.back().parameters_json = "{\"experts\":" + std::to_string(experts) + "}";
    }
  }
  const auto fits = records_of(rows, {});
  ASSERT_EQ(fits.size(), 2u);
  EXPECT_EQ(fits[0].op, "expert_linear");
  EXPECT_EQ(fits[1].op, "gemm");
  EXPECT_NEAR(fits[0].alpha_s, 3e-6, 1e-10);
}

TEST(FitMeasurements, MakeACluster) {
  std::vector<db::Fit> fits;
  LinearFit line;
  line.unit = "byte";
  line.alpha_s = 1e-4;
  line.beta_s_per_unit = 4e-9;
  fits.push_back(to_record("all_to_all/inter_node", line, "cpu", 4));
  line.beta_s_per_unit = 5e-9;
  fits.push_back(to_record("all_reduce/inter_node", line, "cpu", 4));
  line.beta_s_per_unit = 1e-10;
  fits.push_back(to_record("exchange_counts/inter_node", line, "cpu", 4));
  fits.push_back(to_record("memory", line, "cpu", 1));
  fits.push_back(to_record("memory", line, "cuda", 1));
  const auto [cluster, costs] = measured_cluster(costs_of_records(fits, "cpu"), "m", 2, 2);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth_bytes_per_s, 2 / 4e-9);
  EXPECT_EQ(cluster.intra_node.bandwidth_bytes_per_s, 0);
  EXPECT_EQ(costs.fits.size(), 4u);
}

}  // namespace
}  // namespace tuner::fit_measurements_test
