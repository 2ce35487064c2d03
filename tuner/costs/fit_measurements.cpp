#include "tuner/costs/fit_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "moe/errors.h"
#include "moe/ops/collective.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/mixed_rates.h"

namespace tuner {
namespace {

/// What copies that are timed stand for, and how many arrays of their size they read and write.
struct TimedCopy {
  std::string fit;
  double arrays;
};
const std::map<std::string, TimedCopy> kCopies{{"host_copy", {"memory", 2}},
                                               {"device_add", {"memory", 3}},
                                               {"host_to_device", {"fetch_rows", 2}},
                                               {"device_to_host", {"offload_rows", 2}}};

/// The time of a message is nearly a line: while small messages wait for a latency, the link of a
/// box takes the bytes of the next. That of products and copies bends by two to three times, where
/// they are small or fit a cache.
constexpr double kLeastOutlierOfLinks = 0.4;
constexpr double kLeastOutlierOfDevices = 0.6;

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

/// What a fit is of, apart from what it was measured on.
struct Key {
  std::string op, device;
  int ranks = 1;
  std::string link;

  friend auto operator<=>(const Key&, const Key&) = default;
};

/// A sample, and how much it deviated where its row knows that.
struct MeasuredSample {
  Sample sample;
  std::optional<double> relative_deviation;
  int rounds = 0;  ///< that the deviation is of
};
using SamplesOfRun = std::map<std::int64_t, std::vector<MeasuredSample>>;

/// The samples that were measured on the same.
struct Group {
  std::map<Key, SamplesOfRun> samples;
  std::int64_t newest_run = 0;
};

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

/// The fits that a row is a sample of.
std::vector<std::pair<Key, MeasuredSample>> samples_of(const db::Measurement& row, bool between) {
  const double bytes = static_cast<double>(row.bytes);
  if (row.op == "interference") {
    const auto slowdown = slowdown_of(row);
    if (!slowdown) return {};
    return {{{slowdown->first, row.device, row.ranks, ""},
             {slowdown->second, row.relative_deviation, row.samples}}};
  }
  if (const auto wire = wire_bytes(row.op, bytes, row.ranks)) {
    return {{{row.op, row.device, row.ranks, between ? "inter_node" : "intra_node"},
             {{1, *wire, row.time_s}, {}, 0}}};
  }
  if (row.flops > 0) {
    const MeasuredSample sample{{products_of(row), row.flops, row.time_s}, {}, 0};
    return {{{gemm_fit(row.dtype), row.device, 1, ""}, sample},
            {{fit_of_type(row.op, row.dtype), row.device, 1, ""}, sample}};
  }
  if (const auto copies = kCopies.find(row.op); copies != kCopies.end()) {
    const TimedCopy& copy = copies->second;
    return {{{copy.fit, row.device, 1, ""}, {{1, copy.arrays * bytes, row.time_s}, {}, 0}}};
  }
  return {};
}

[[noreturn]] void refuse(const MixedRates& mixed, const Key& key, const MeasuredOn& on) {
  const std::string network = on.network.empty() ? "no network is stored with them"
                                                 : "the network is the same: " + on.network;
  throw moe::Refusal(
      fmt::format("{} of {} ranks", key.op, key.ranks),
      fmt::format("run {} took {:.2g} times as long as run {} for the same bytes, and {}",
                  mixed.ratio > 1 ? mixed.other_run : mixed.run,
                  std::max(mixed.ratio, 1 / mixed.ratio),
                  mixed.ratio > 1 ? mixed.run : mixed.other_run, network),
      "links of two rates make no line: choose with --run or --since");
}

/// The mean slowdown of the newest run that has the pair, with the deviation of its rounds.
LinearFit fit_of_slowdown(const SamplesOfRun& by_run) {
  const std::vector<MeasuredSample>& newest = by_run.rbegin()->second;
  std::vector<Sample> samples;
  double squares = 0;
  int deviations = 0, rounds = 0;
  for (const MeasuredSample& sample : newest) {
    samples.push_back(sample.sample);
    if (!sample.relative_deviation) continue;
    squares += *sample.relative_deviation * *sample.relative_deviation;
    rounds += sample.rounds;
    ++deviations;
  }
  LinearFit fit = fit_line(samples, "second");
  if (deviations == 0) return fit;
  // Of rounds within a row, and of rows, which differ in what was beside each other.
  const double between = fit.relative_deviation.value_or(0);
  const double deviation = std::sqrt(squares / deviations + between * between);
  fit.relative_deviation = deviation;
  fit.beta_error_s_per_unit =
      fit.beta_s_per_unit * std::max(std::sqrt(squares / deviations / std::max(rounds, 1)),
                                     between / std::sqrt(static_cast<double>(samples.size())));
  return fit;
}

LinearFit fit_of(const Key& key, const SamplesOfRun& by_run, const MeasuredOn& on) {
  if (is_slowdown(key.op)) return fit_of_slowdown(by_run);
  std::vector<Sample> all;
  std::map<std::int64_t, std::vector<Sample>> samples;
  for (const auto& [run, rows] : by_run) {
    for (const MeasuredSample& row : rows) samples[run].push_back(row.sample);
    all.insert(all.end(), samples[run].begin(), samples[run].end());
  }
  if (!key.link.empty()) {
    if (const auto mixed = find_mixed_rates(samples)) refuse(*mixed, key, on);
    return fit_line_without_outliers(all, "byte", kLeastOutlierOfLinks);
  }
  const bool copies =
      std::ranges::any_of(kCopies, [&](const auto& copy) { return copy.second.fit == key.op; });
  return fit_line_without_outliers(all, copies ? "byte" : "flop", kLeastOutlierOfDevices);
}

}  // namespace

std::optional<double> wire_bytes(const std::string& op, double bytes, int ranks) {
  const std::optional<double> factor = moe::bus_factor(op, ranks);
  if (!factor) return std::nullopt;
  return bytes * *factor;
}

std::vector<db::Fit> fit_measurements(std::span<const db::Measurement> measurements,
                                      const std::map<std::int64_t, MeasuredOn>& measured_on) {
  std::map<MeasuredOn, Group> groups;
  for (const db::Measurement& row : measurements) {
    if (row.wrong != 0 || !(row.time_s > 0) || !std::isfinite(row.time_s)) continue;
    const auto found = measured_on.find(row.run_id);
    const MeasuredOn on = found == measured_on.end() ? MeasuredOn{} : found->second;
    for (auto& [key, sample] : samples_of(row, on.nodes > 1)) {
      const bool on_network = !key.link.empty() || is_slowdown(key.op);
      Group& group = groups[on_network ? on : MeasuredOn{on.machine_id, "", 0}];
      group.newest_run = std::max(group.newest_run, row.run_id);
      group.samples[key][row.run_id].push_back(sample);
    }
  }
  std::vector<std::pair<const MeasuredOn*, const Group*>> by_age;
  for (const auto& [on, group] : groups) by_age.emplace_back(&on, &group);
  std::ranges::stable_sort(by_age, {}, [](const auto& entry) { return entry.second->newest_run; });
  std::vector<db::Fit> fits;
  for (const auto& [on, group] : by_age) {
    for (const auto& [key, by_run] : group->samples) {
      const LinearFit fit = fit_of(key, by_run, *on);
      db::Fit record = to_record(key.link.empty() ? key.op : link_key(key.op, key.link), fit,
                                 key.device, key.ranks);
      if (on->machine_id != 0) record.machine_id = on->machine_id;
      record.network = on->network;
      record.nodes = on->nodes;
      fits.push_back(std::move(record));
    }
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
  record.r2 = fit.r2.value_or(0);
  record.samples = fit.samples;
  record.min_units = fit.min_units;
  record.max_units = fit.max_units;
  record.max_relative_residual = fit.max_relative_residual;
  record.relative_deviation = fit.relative_deviation;
  record.alpha_error_s = fit.alpha_error_s;
  record.beta_error_s_per_unit = fit.beta_error_s_per_unit;
  record.outliers = fit.outliers;
  record.verdict = verdict_of(fit);
  return record;
}

LinearFit from_record(const db::Fit& record) {
  LinearFit fit;
  fit.alpha_s = record.alpha_s;
  fit.beta_s_per_unit = record.beta_s_per_unit;
  fit.unit = record.unit;
  if (record.relative_deviation) fit.r2 = record.r2;
  fit.samples = record.samples;
  fit.min_units = record.min_units;
  fit.max_units = record.max_units;
  fit.max_relative_residual = record.max_relative_residual;
  fit.relative_deviation = record.relative_deviation;
  fit.alpha_error_s = record.alpha_error_s;
  fit.beta_error_s_per_unit = record.beta_error_s_per_unit;
  fit.outliers = record.outliers;
  return fit;
}

std::vector<db::Fit> changed_fits(const CostModel& before, const CostModel& now, int ranks) {
  std::vector<db::Fit> changed;
  for (const auto& [key, fit] : now.fits) {
    const auto known = before.fits.find(key);
    if (known != before.fits.end() && known->second == fit) continue;
    changed.push_back(to_record(key, fit, now.device, ranks));
  }
  return changed;
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
    // Exchanges of counts are all latency: they say nothing of the link's rate.
    if (!(between || key.ends_with("/intra_node")) || !(fit.beta_s_per_unit > 0) ||
        key.starts_with("exchange_counts/") || key.starts_with("gather_loads/")) {
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
