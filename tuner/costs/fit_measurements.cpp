#include "tuner/costs/fit_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "moe/ops/collective.h"

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

bool is_slowdown(const std::string& op) {
  Interference any;
  return set_speed(any, op, 1);
}

/// "computation_beside_copy" and the seconds that a second alone takes: a line through the origin,
/// as all samples have one unit. An addition beside a product is a second computation beside one;
/// other rows of memory_bound say nothing that the model asks for.
std::optional<std::pair<std::string, Sample>> slowdown_of(const db::Measurement& row) {
  const auto parameters = nlohmann::json::parse(row.parameters_json, nullptr, false);
  if (!parameters.is_object()) return std::nullopt;
  const std::string y = parameters.value("activity", "");
  std::string x = parameters.value("beside", "");
  const double alone_s = parameters.value("alone_s", 0.0);
  if (y == "computation" && x == "memory_bound") x = y;
  const std::string key = fmt::format("{}_beside_{}", y, x);
  if (!is_slowdown(key) || !(alone_s > 0)) return std::nullopt;
  return std::pair{key, Sample{1, 1, row.time_s / alone_s}};
}

}  // namespace

std::optional<double> wire_bytes(const std::string& op, double bytes, int ranks) {
  const std::optional<double> factor = moe::bus_factor(op, ranks);
  if (!factor) return std::nullopt;
  return bytes * *factor;
}

std::vector<db::Fit> fit_measurements(std::span<const db::Measurement> measurements,
                                      const std::map<std::int64_t, int>& nodes_of_run) {
  using Key = std::tuple<std::string, std::string, int, std::string>;  // op, device, ranks, link
  std::map<Key, std::vector<Sample>> samples;
  std::map<Key, std::int64_t> newest_run;  // of interference
  for (const db::Measurement& row : measurements) {
    if (row.wrong != 0 || !(row.time_s > 0) || !std::isfinite(row.time_s)) continue;
    const double bytes = static_cast<double>(row.bytes);
    if (row.op == "interference") {
      if (const auto slowdown = slowdown_of(row)) {
        const Key key{slowdown->first, row.device, row.ranks, ""};
        std::int64_t& newest = newest_run[key];
        if (row.run_id > newest) samples[key].clear();
        newest = std::max(newest, row.run_id);
        if (row.run_id == newest) samples[key].push_back(slowdown->second);
      }
    } else if (const auto wire = wire_bytes(row.op, bytes, row.ranks)) {
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
                                    [&op = op](const auto& copy) { return copy.second == op; });
    const bool bytes = !link.empty() || copies;
    const LinearFit fit = fit_line(rows, bytes ? "byte" : is_slowdown(op) ? "second" : "flop");
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
  record.relative_deviation = fit.relative_deviation;
  return record;
}

LinearFit from_record(const db::Fit& record) {
  return {record.alpha_s,
          record.beta_s_per_unit,
          record.unit,
          record.r2,
          record.samples,
          record.min_units,
          record.max_units,
          record.max_relative_residual,
          record.relative_deviation};
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
  std::set<std::string> slowdowns;
  for (const db::Fit& record : fits) {
    if (record.device != cluster.device) continue;
    if (record.unit == "second") {
      if (slowdowns.insert(record.op).second) {
        set_speed(result.costs.interference, record.op, 1 / record.beta_s_per_unit);
      }
      continue;
    }
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
