#include "tuner/costs/fit_measurements.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "moe/communicator/collective.h"

namespace tuner {
namespace {

/// What copies that are timed stand for; bytes are counted as read and written.
const std::map<std::string, std::string> kCopies{
    {"host_copy", "memory"}, {"host_to_device", "fetch_rows"}, {"device_to_host", "offload_rows"}};

/// Matrix products in one timed call: one an expert.
double products_of(const db::Measurement& row) {
  const auto parameters = nlohmann::json::parse(row.parameters_json, nullptr, false);
  const int experts = parameters.is_object() ? parameters.value("experts", 0) : 0;
  return std::max(1, experts);
}

}  // namespace

std::optional<double> wire_bytes(const std::string& op, double bytes, int ranks) {
  const auto collective = moe::collective_named(op);
  if (!collective) return std::nullopt;
  return bytes * moe::bus_factor(*collective, ranks);
}

std::vector<db::Fit> fit_measurements(std::span<const db::Measurement> measurements,
                                      const std::map<std::int64_t, int>& nodes_of_run) {
  using Key = std::tuple<std::string, std::string, int, std::string>;  // op, device, ranks, link
  std::map<Key, std::vector<Sample>> samples;
  for (const db::Measurement& row : measurements) {
    if (row.wrong != 0 || !(row.time_s > 0) || !std::isfinite(row.time_s)) continue;
    const double bytes = static_cast<double>(row.bytes);
    if (const auto wire = wire_bytes(row.op, bytes, row.ranks)) {
      const auto nodes = nodes_of_run.find(row.run_id);
      const bool between = nodes != nodes_of_run.end() && nodes->second > 1;
      samples[{row.op, row.device, row.ranks, between ? "inter_node" : "intra_node"}].push_back(
          {1, *wire, row.time_s});
    } else if (row.flops > 0) {
      const Sample sample{products_of(row), row.flops, row.time_s};
      samples[{"gemm", row.device, 1, ""}].push_back(sample);
      samples[{row.op, row.device, 1, ""}].push_back(sample);
    } else if (const auto copies = kCopies.find(row.op); copies != kCopies.end()) {
      samples[{copies->second, row.device, 1, ""}].push_back({1, 2 * bytes, row.time_s});
    }
  }
  std::vector<db::Fit> fits;
  for (const auto& [key, rows] : samples) {
    const auto& [op, device, ranks, link] = key;
    const bool copies = std::any_of(kCopies.begin(), kCopies.end(),
                                    [&](const auto& copy) { return copy.second == op; });
    const bool computes = link.empty() && !copies;
    const LinearFit fit = fit_line(rows, computes ? "flop" : "byte");
    fits.push_back(to_record(link.empty() ? op : link_key(op, link), fit, device, ranks));
  }
  return fits;
}

db::Fit to_record(const std::string& key, const LinearFit& fit, const std::string& device,
                  int ranks) {
  db::Fit record;
  const auto slash = key.rfind('/');
  record.op = key.substr(0, slash);
  record.link = slash == std::string::npos ? "" : key.substr(slash + 1);
  record.device = device;
  record.ranks = ranks;
  record.alpha_s = fit.alpha_s;
  record.beta_s_per_unit = fit.beta_s_per_unit;
  record.unit = fit.unit;
  record.r2 = fit.r2;
  record.samples = fit.samples;
  record.min_units = fit.min_units;
  record.max_units = fit.max_units;
  record.max_relative_residual = fit.max_relative_residual;
  return record;
}

LinearFit from_record(const db::Fit& record) {
  return {record.alpha_s, record.beta_s_per_unit, record.unit,      record.r2,
          record.samples, record.min_units,       record.max_units, record.max_relative_residual};
}

CostedCluster measured_cluster(std::span<const db::Fit> fits, std::string name, std::string device,
                               int nodes, int ranks_per_node) {
  CostedCluster result;
  Cluster& cluster = result.cluster;
  cluster.name = std::move(name);
  cluster.device = device;
  cluster.nodes = nodes;
  cluster.ranks_per_node = ranks_per_node;
  result.costs.device = std::move(device);
  for (const db::Fit& record : fits) {
    if (record.device != cluster.device) continue;
    result.costs.fits.emplace(record.link.empty() ? record.op : link_key(record.op, record.link),
                              from_record(record));
  }
  for (const auto& [key, fit] : result.costs.fits) {
    const bool between = key.ends_with("/inter_node");
    // The exchange of counts is all latency: it says nothing of the link's rate.
    if (!(between || key.ends_with("/intra_node")) || !(fit.beta_s_per_unit > 0) ||
        key.starts_with("exchange_counts/")) {
      continue;
    }
    Link& link = between ? cluster.inter_node : cluster.intra_node;
    // All ranks of a node reached their rate at once, so the card carries all of theirs.
    const double rate = (between ? ranks_per_node : 1) / fit.beta_s_per_unit;
    if (rate > link.bandwidth_bytes_per_s) link = {rate, fit.alpha_s};
  }
  return result;
}

}  // namespace tuner
