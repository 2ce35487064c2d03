#include "tuner/costs/fit_measurements.h"

#include <gtest/gtest.h>

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
  m.time_s = time_s;
  return m;
}

TEST(FitMeasurements, CountsBytesOnTheWire) {
  EXPECT_DOUBLE_EQ(*wire_bytes("all_to_all", 400, 4), 300);
  EXPECT_DOUBLE_EQ(*wire_bytes("all_reduce", 400, 4), 600);
  EXPECT_DOUBLE_EQ(*wire_bytes("broadcast", 400, 4), 400);
  EXPECT_FALSE(wire_bytes("gemm", 400, 4));
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
  const auto fits = fit_measurements(rows, {{1, 4}});
  ASSERT_EQ(fits.size(), 4u);
  EXPECT_EQ(fits[0].op, "all_to_all");
  EXPECT_EQ(fits[0].link, "inter_node");
  EXPECT_EQ(fits[0].ranks, 4);
  EXPECT_NEAR(fits[0].alpha_s, 1e-4, 1e-9);
  EXPECT_NEAR(fits[0].beta_s_per_unit, 4e-9, 1e-13);
  EXPECT_EQ(fits[1].op, "gemm");
  EXPECT_EQ(fits[1].unit, "flop");
  EXPECT_NEAR(fits[1].beta_s_per_unit, 1e-11, 1e-15);
  EXPECT_EQ(fits[2].op, "linear");
  EXPECT_EQ(fits[2].unit, "flop");
  EXPECT_EQ(fits[3].op, "memory");
  EXPECT_EQ(fits[3].unit, "byte");
  EXPECT_NEAR(fits[3].beta_s_per_unit, 1e-10, 1e-14);
  EXPECT_EQ(fit_measurements(rows, {{1, 1}})[0].link, "intra_node");
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
  const auto fits = fit_measurements(rows, {{1, 1}});
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
  const CostModel costs = measured_cluster(stored, "measured", "cpu", 1, 2).costs;
  EXPECT_TRUE(costs.fits.empty());
  EXPECT_NEAR(speed_of(costs.interference, Occupation::computation, Occupation::copy), 0.5, 1e-9);
  EXPECT_NEAR(speed_of(costs.interference, Occupation::computation, Occupation::computation), 0.625,
              1e-9);
  EXPECT_NEAR(*costs.interference.beside_all[1], 0.8, 1e-9);
  EXPECT_EQ(speed_of(costs.interference, Occupation::copy, Occupation::computation), 1);
}

TEST(FitMeasurements, OfInterferenceAreOfTheNewestRunThatHasThePair) {
  std::vector<db::Measurement> rows{beside("computation", "copy", 1, 2),
                                    beside("computation", "copy", 1, 4),
                                    beside("copy", "computation", 1, 2)};
  rows[1].run_id = 2;
  for (int order = 0; order < 2; ++order) {
    const auto fits = fit_measurements(rows, {});
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
  const auto fits = fit_measurements(rows, {});
  ASSERT_EQ(fits.size(), 2u);
  EXPECT_EQ(fits[0].op, "fetch_rows");
  EXPECT_EQ(fits[0].unit, "byte");
  EXPECT_NEAR(fits[0].beta_s_per_unit, 2e-11, 1e-15);  // per byte read or written
  EXPECT_EQ(fits[1].op, "offload_rows");
  EXPECT_NEAR(fits[1].alpha_s, 6e-6, 1e-10);
}

TEST(FitMeasurements, GiveEveryExpertsProductItsStart) {
  std::vector<db::Measurement> rows;
  for (double n = 1e6; n <= 1e9; n *= 10) {
    for (const int experts : {1, 4}) {
      rows.push_back(row("expert_linear", 0, n, experts * 3e-6 + 1e-11 * n, 1));
      rows.back().parameters_json = "{\"experts\":" + std::to_string(experts) + "}";
    }
  }
  const auto fits = fit_measurements(rows, {});
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
  const auto [cluster, costs] = measured_cluster(fits, "m", "cpu", 2, 2);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth_bytes_per_s, 2 / 4e-9);
  EXPECT_EQ(cluster.intra_node.bandwidth_bytes_per_s, 0);
  EXPECT_EQ(costs.fits.size(), 4u);
}

}  // namespace
}  // namespace tuner::fit_measurements_test
