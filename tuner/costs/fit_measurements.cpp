#include "tuner/costs/fit_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "db/collective_facts.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/fit_records.h"

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

/// What a fit is of.
struct Key {
  MeasuredOn on;
  std::string op, device;
  int ranks = 1;
  std::string link, unit;

  friend auto operator<=>(const Key&, const Key&) = default;
};

/// A row as a sample. Of interference it is one of several rounds.
struct MeasuredSample {
  Sample sample;
  std::int64_t run = 0;
  double units_per_byte = 0;
  int rounds = 1;
  std::optional<double> relative_deviation = {};  ///< of the rounds
};

nlohmann::json parameters_in(const db::Measurement& row) {
  auto parameters = nlohmann::json::parse(row.parameters_json, nullptr, false);
  return parameters.is_object() ? parameters : nlohmann::json::object();
}

/// "computation_beside_copy": what an addition beside a product is, a second computation beside
/// one. "" where the model asks for no such speed, as of other rows with memory_bound.
std::string pair_of(const nlohmann::json& parameters) {
  const std::string y = parameters.value("activity", "");
  std::string x = parameters.value("beside", "");
  if (y == "computation" && x == "memory_bound") x = y;
  const std::string key = fmt::format("{}_beside_{}", y, x);
  Interference any;
  return set_speed(any, key, 1) && parameters.value("alone_s", 0.0) > 0 ? key : "";
}

/// The fits that a row is a sample of.
std::vector<std::pair<Key, MeasuredSample>> samples_of(const db::Measurement& row,
                                                       const MeasuredOn& on) {
  const double bytes = static_cast<double>(row.bytes);
  const MeasuredOn machine{on.machine_id, "", 0};
  if (row.op == "interference") {
    const nlohmann::json parameters = parameters_in(row);
    const std::string pair = pair_of(parameters);
    if (pair.empty()) return {};
    const Sample slowdown{1, 1, row.time_s / parameters.value("alone_s", 0.0)};
    return {{{on, pair, row.device, row.ranks, "", "second"},
             {slowdown, row.run_id, 0, static_cast<int>(row.samples), row.relative_deviation}}};
  }
  if (const auto factor = db::link_factor(row.op, row.ranks, on.nodes)) {
    return {
        {{on, row.op, row.device, row.ranks, on.nodes > 1 ? "inter_node" : "intra_node", "byte"},
         {{1, *factor * bytes, row.time_s}, row.run_id, *factor}}};
  }
  if (row.flops > 0) {
    const double products = std::max(1, parameters_in(row).value("experts", 0));
    const MeasuredSample sample{{products, row.flops, row.time_s}, row.run_id};
    return {{{machine, gemm_fit(row.dtype), row.device, 1, "", "flop"}, sample},
            {{machine, fit_of_type(row.op, row.dtype), row.device, 1, "", "flop"}, sample}};
  }
  if (const auto copies = kCopies.find(row.op); copies != kCopies.end()) {
    const auto& [fit, arrays] = copies->second;
    return {{{machine, fit, row.device, 1, "", "byte"},
             {{1, arrays * bytes, row.time_s}, row.run_id, arrays}}};
  }
  return {};
}

std::vector<Sample> samples_in(const std::vector<MeasuredSample>& rows) {
  std::vector<Sample> samples;
  for (const MeasuredSample& row : rows) samples.push_back(row.sample);
  return samples;
}

/// The mean slowdown of the newest run. Its samples are the rounds, and its deviation that of rounds
/// in a row or of rows, which differ in what was beside each other, whichever is more.
LinearFit fit_of_slowdown(std::vector<MeasuredSample> rows) {
  const auto newest = std::ranges::max(rows, {}, &MeasuredSample::run).run;
  std::erase_if(rows, [&](const MeasuredSample& row) { return row.run != newest; });
  LinearFit fit = fit_curve(samples_in(rows), "second");
  fit.samples = 0;
  for (const MeasuredSample& row : rows) {
    fit.samples += row.rounds;
    fit.relative_deviation = std::max(fit.relative_deviation, row.relative_deviation);
  }
  if (fit.relative_deviation) {
    fit.beta_error_s_per_unit =
        fit.beta_s_per_unit * *fit.relative_deviation / std::sqrt(std::max(fit.samples, 1));
  }
  return fit;
}

}  // namespace

std::vector<MeasuredFit> fit_measurements(std::span<const db::Measurement> measurements,
                                          const std::map<std::int64_t, MeasuredOn>& measured_on) {
  std::map<Key, std::vector<MeasuredSample>> samples;
  std::map<MeasuredOn, std::int64_t> newest_run;
  for (const db::Measurement& row : measurements) {
    if (row.wrong != 0 || !(row.time_s > 0) || !std::isfinite(row.time_s)) continue;
    const auto found = measured_on.find(row.run_id);
    for (auto& [key, sample] :
         samples_of(row, found == measured_on.end() ? MeasuredOn{} : found->second)) {
      std::int64_t& newest = newest_run[key.on];
      newest = std::max(newest, row.run_id);
      samples[key].push_back(sample);
    }
  }
  std::vector<const std::pair<const Key, std::vector<MeasuredSample>>*> by_age;
  for (const auto& entry : samples) by_age.push_back(&entry);
  std::ranges::stable_sort(by_age, {}, [&](auto* entry) { return newest_run[entry->first.on]; });
  std::vector<MeasuredFit> fits;
  for (const auto* entry : by_age) {
    const auto& [key, rows] = *entry;
    MeasuredFit& one = fits.emplace_back();
    one.samples = samples_in(rows);
    one.units_per_byte = rows.front().units_per_byte;
    one.fit = key.unit == "second" ? fit_of_slowdown(rows) : fit_curve(one.samples, key.unit);
    one.record = to_record(key.link.empty() ? key.op : link_key(key.op, key.link), one.fit,
                           key.device, key.ranks);
    db::Fit& record = one.record;
    if (key.on.machine_id != 0) record.machine_id = key.on.machine_id;
    record.network = key.on.network;
    record.nodes = key.on.nodes;
  }
  return fits;
}

}  // namespace tuner
