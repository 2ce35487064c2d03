#include "viewer/model/fit_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "db/collective_facts.h"
#include "db/console/statistics.h"
#include "db/fit_curve.h"
#include "db/statement.h"

namespace viewer {

namespace {

// What the kinds of ops may be called that a fit is of: "linear_bf16" and "linear" of
// "linear_bf16[8 rows, 4x6]"; twice the same of a fit in f32.
struct KindsOfFit {
  std::string name, without_precision;
};
KindsOfFit kinds_of(const db::Fit& fit) {
  const std::string name = fit.op.substr(0, fit.op.find('['));
  for (const std::string_view suffix : {"_bf16", "_f64"}) {
    if (name.ends_with(suffix)) return {name, name.substr(0, name.size() - suffix.size())};
  }
  return {name, name};
}

// How many arrays of its size a timed copy reads and writes, by the fit that it is for.
double arrays_of(const std::string& fit_op, const std::string& measured_op) {
  static const std::map<std::pair<std::string, std::string>, double> arrays{
      {{"memory", "host_copy"}, 2},
      {{"memory", "device_add"}, 3},
      {{"fetch_rows", "host_to_device"}, 2},
      {{"offload_rows", "device_to_host"}, 2}};
  const auto found = arrays.find({fit_op, measured_op});
  return found == arrays.end() ? 0 : found->second;
}

double parameter_of(const db::Measurement& row, const char* name, double otherwise) {
  const auto parameters = nlohmann::json::parse(row.parameters_json, nullptr, false);
  if (!parameters.is_object()) return otherwise;
  const auto found = parameters.find(name);
  return found != parameters.end() && found->is_number() ? found->get<double>() : otherwise;
}

// The products of a precision are fitted together ("gemm") and by kind.
bool is_product_of(const db::Fit& fit, const db::Measurement& row) {
  if (!(row.flops > 0)) return false;
  const std::string suffix = row.dtype == "f32" ? "" : "_" + row.dtype;
  return fit.op == "gemm" + suffix || fit.op == row.op + suffix;
}

std::optional<FitSample> sample_of(const db::Fit& fit, const db::Measurement& row) {
  FitSample sample;
  if (fit.unit == "flop") {
    if (!is_product_of(fit, row)) return std::nullopt;
    const double products = std::max(1.0, parameter_of(row, "experts", 1));
    sample = {row.flops / products, row.time_s / products};
  } else if (fit.unit == "byte" && !fit.link.empty()) {
    if (row.op != fit.op || row.ranks != fit.ranks) return std::nullopt;
    const double sent = db::link_factor(row.op, row.ranks, fit.nodes).value_or(0);
    sample = {static_cast<double>(row.bytes) * sent, row.time_s};
  } else if (fit.unit == "byte") {
    sample = {static_cast<double>(row.bytes) * arrays_of(fit.op, row.op), row.time_s};
  }
  if (!(sample.units > 0) || !(sample.seconds > 0)) return std::nullopt;
  return sample;
}

bool was_measured_there(const db::Fit& fit, const db::Measurement& row,
                        const std::map<std::int64_t, db::RunPlace>& places) {
  const auto of_row = places.find(row.run_id), of_fit = places.find(fit.run_id);
  if (of_row == places.end() || of_fit == places.end()) return false;
  const db::RunPlace& place = of_row->second;
  if (place.machine_id != fit.machine_id.value_or(of_fit->second.machine_id)) return false;
  if (fit.link.empty()) return true;  // the network is nothing to it
  return (fit.link == "inter_node") == (place.nodes > 1) && place.network == fit.network &&
         (fit.nodes == 0 || std::max(place.nodes, 1) == std::max(fit.nodes, 1));
}

void mark_outliers(const db::Fit& fit, std::vector<FitSample>& samples) {
  if (fit.outliers == 0) return;
  constexpr double kRounding = 1e-9;
  for (FitSample& sample : samples) {
    const double residual = std::abs(db::fitted_s(fit, sample.units) / sample.seconds - 1);
    sample.is_outlier = residual > fit.max_relative_residual + kRounding;
  }
}

}  // namespace

bool is_of_kind(const db::Fit& fit, const std::string& kind) {
  const KindsOfFit kinds = kinds_of(fit);
  return kind == kinds.name || kind == kinds.without_precision;
}

std::vector<FitSample> measured_samples(const db::Fit& fit,
                                        const std::vector<db::Measurement>& measurements,
                                        const std::map<std::int64_t, db::RunPlace>& places) {
  std::vector<FitSample> samples;
  const auto fitted_by = places.find(fit.run_id);
  if (fitted_by == places.end() || fitted_by->second.kind == "study") return samples;
  for (const db::Measurement& row : measurements) {
    if (row.device != fit.device || row.wrong != 0 || row.run_id > fit.run_id) continue;
    if (!was_measured_there(fit, row, places)) continue;
    if (const auto sample = sample_of(fit, row)) samples.push_back(*sample);
  }
  mark_outliers(fit, samples);
  return samples;
}

std::vector<FitSample> profile_samples(const db::Connection& connection, const db::Fit& fit) {
  const KindsOfFit kinds = kinds_of(fit);  // the statement keeps no copy
  const bool is_of_one_shape = fit.op.ends_with(']');
  db::Statement statement(
      connection,
      "SELECT iif(?3 = 'flop', span.flops, span.bytes) AS units, "
      "span.duration_s - coalesce(span.waiting_s, 0) AS seconds "
      "FROM run JOIN study ON study.name = run.name "
      "JOIN json_each(nullif(study.profile_runs_json, '')) AS profile "
      "JOIN timeline ON timeline.run_id = profile.value AND timeline.kind = 'measured' "
      "JOIN timeline_op ON timeline_op.timeline_id = timeline.id AND timeline_op.kind IN (?2, ?5) "
      "JOIN span ON span.timeline_id = timeline.id AND span.op = timeline_op.op "
      "WHERE run.id = ?1 AND run.kind = 'study' AND units > 0 AND seconds > 0 "
      "AND (?4 = '' OR ?4 = iif((SELECT count(DISTINCT run_rank.node) FROM rank_group AS own "
      "JOIN rank_group AS member ON member.timeline_id = own.timeline_id "
      "AND member.kind = own.kind AND member.first_rank = own.first_rank "
      "JOIN run_rank ON run_rank.run_id = timeline.run_id AND run_rank.rank = member.rank "
      "WHERE own.timeline_id = timeline.id AND own.kind = timeline_op.group_kind "
      "AND own.rank = span.rank) > 1, 'inter_node', 'intra_node'))");
  statement.bind(fit.run_id, kinds.name, fit.unit, fit.link, kinds.without_precision);
  std::map<double, std::vector<double>> by_size;
  while (statement.step()) {
    const FitSample sample{statement.value<double>(0), statement.value<double>(1)};
    constexpr double kRounding = 1e-6;
    const bool is_outside = sample.units < fit.min_units * (1 - kRounding) ||
                            sample.units > fit.max_units * (1 + kRounding);
    if (!is_of_one_shape || !is_outside) by_size[sample.units].push_back(sample.seconds);
  }
  std::vector<FitSample> samples;
  for (const auto& [units, seconds] : by_size) samples.push_back({units, db::median(seconds)});
  return samples;
}

InterferenceMatrix interference_matrix(const std::vector<db::Measurement>& measurements,
                                       const std::map<std::int64_t, db::RunPlace>& places) {
  using Where = std::tuple<std::int64_t, std::string, std::string, std::string, int>;
  std::optional<Where> where;
  InterferenceMatrix matrix;
  struct Newest {
    std::int64_t run = 0;
    std::int64_t bytes = 0;
    double flops = 0;
    double speed = 0;
  };
  std::map<std::pair<std::string, std::string>, Newest> pairs;
  std::set<std::string> names;
  for (const db::Measurement& row : measurements) {  // the newest run first
    if (row.op != "interference" || !(row.time_s > 0) || row.wrong != 0) continue;
    const auto parameters = nlohmann::json::parse(row.parameters_json, nullptr, false);
    const double alone_s = parameter_of(row, "alone_s", 0);
    if (!parameters.is_object() || !(alone_s > 0)) continue;
    const auto activity = parameters.find("activity"), beside = parameters.find("beside");
    if (activity == parameters.end() || !activity->is_string() || beside == parameters.end() ||
        !beside->is_string()) {
      continue;
    }
    const auto found = places.find(row.run_id);
    const db::RunPlace place = found == places.end() ? db::RunPlace{} : found->second;
    const Where here{place.machine_id, place.network, row.device, row.dtype, row.ranks};
    if (!where) {
      where = here;
      matrix.where = fmt::format(
          "{}{}{}, {} rank{}{}", place.machine, place.machine.empty() ? "" : ", ", row.device,
          row.ranks, row.ranks == 1 ? "" : "s", place.network.empty() ? "" : ", " + place.network);
    }
    if (*where != here) continue;
    const auto a = activity->get<std::string>(), b = beside->get<std::string>();
    names.insert(a), names.insert(b);
    const Newest one{row.run_id, row.bytes, row.flops, alone_s / row.time_s};
    const auto [known, is_new] = pairs.try_emplace({a, b}, one);
    const auto size = [](const Newest& of) { return std::tuple(of.run, of.bytes, of.flops); };
    if (!is_new && size(one) > size(known->second)) known->second = one;
  }
  matrix.activities.assign(names.begin(), names.end());
  for (const std::string& a : matrix.activities) {
    matrix.speed.emplace_back();
    for (const std::string& b : matrix.activities) {
      const auto found = pairs.find({a, b});
      matrix.speed.back().push_back(found == pairs.end() ? std::nullopt
                                                         : std::optional(found->second.speed));
    }
  }
  return matrix;
}

}  // namespace viewer
