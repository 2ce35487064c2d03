#include "microbench/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "db/console/statistics.h"

namespace microbench {
namespace {

constexpr double kDeviationOfRatios = 1.4826;  ///< standard deviation over the median deviation

using CaseKey =
    std::tuple<std::string, std::string, std::string, int, std::int64_t, double, std::string>;

/// Parameters of interference hold what was measured, of which the activities are the case; those of
/// pairs also hosts, which are others in the next allocation.
std::string case_parameters(const db::Measurement& m) {
  if (m.op != "interference" && m.op != "ping_pong") return m.parameters_json;
  const auto json = nlohmann::json::parse(m.parameters_json, nullptr, false);
  if (!json.is_object()) return m.parameters_json;
  if (m.op == "ping_pong") {
    return nlohmann::json{{"from", json.value("from", -1)}, {"to", json.value("to", -1)}}.dump();
  }
  return json.value("activity", "") + " beside " + json.value("beside", "");
}

CaseKey key_of(const db::Measurement& m) {
  return {m.op, m.device, m.dtype, m.ranks, m.bytes, m.flops, case_parameters(m)};
}

/// `noise`: what ln(ratio) may deviate by chance.
Verdict verdict_of(const RatioInterval& interval, double least, double noise) {
  const double limit = std::max(std::log1p(least), noise);
  const double change = std::log(interval.ratio);
  if (change > limit && interval.low > 1) return Verdict::slower;
  if (change < -limit && interval.high < 1) return Verdict::faster;
  return Verdict::within_noise;
}

double spread_of(const std::vector<double>& ratios) {
  if (ratios.size() < kFewestForSpread) return 0;
  const double middle = std::log(db::median(ratios));
  std::vector<double> deviations;
  for (const double ratio : ratios) deviations.push_back(std::abs(std::log(ratio) - middle));
  return kDeviationOfRatios * db::median(deviations);
}

}  // namespace

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::within_noise:
      return "within noise";
  }
  throw std::invalid_argument("name_of: no such verdict");
}

double spreads_of_noise(std::size_t cases) { return 4 + 32 / static_cast<double>(cases); }

int Comparison::count(Verdict of) const {
  return static_cast<int>(std::ranges::count(cases, of, &ComparedCase::verdict));
}

bool Comparison::has_regressed() const {
  return verdict == Verdict::slower || count(Verdict::slower) > 0;
}

bool has_case(const std::vector<db::SampledMeasurement>& rows, const db::Measurement& row) {
  return std::ranges::any_of(rows, [key = key_of(row)](const db::SampledMeasurement& other) {
    return !other.quantiles.empty() && key_of(other.measurement) == key;
  });
}

Comparison compare(const std::vector<db::SampledMeasurement>& before,
                   const std::vector<db::SampledMeasurement>& after, double least) {
  std::map<CaseKey, const db::SampledMeasurement*> of_before, of_after;
  for (const auto& row : before) of_before[key_of(row.measurement)] = &row;
  for (const auto& row : after) of_after[key_of(row.measurement)] = &row;
  Comparison result;
  std::vector<double> p, ratios;
  for (const auto& row : before) {
    const CaseKey key = key_of(row.measurement);
    if (of_before.at(key) != &row) continue;
    const auto found = of_after.find(key);
    if (found == of_after.end()) {
      ++result.only_before;
      continue;
    }
    const db::SampledMeasurement& other = *found->second;
    if (row.quantiles.empty() || other.quantiles.empty()) {
      ++result.without_samples;
      continue;
    }
    ComparedCase compared{row.measurement, other.measurement,
                          ratio_of(row.quantiles, other.quantiles)};
    p.push_back(rank_test_p(row.quantiles, other.quantiles));
    ratios.push_back(compared.ratio.ratio);
    result.cases.push_back(std::move(compared));
  }
  for (const auto& [key, row] : of_after) {
    if (!of_before.contains(key)) ++result.only_after;
  }
  if (result.cases.empty()) return result;
  result.spread = spread_of(ratios);
  const double noise = spreads_of_noise(ratios.size()) * result.spread;
  const std::vector<double> corrected = corrected_by_holm(p);
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    ComparedCase& compared = result.cases[i];
    compared.p = corrected[i];
    if (compared.p < kSignificant) {
      compared.verdict = verdict_of(compared.ratio, least, noise);
    }
  }
  result.all = median_of_ratios(ratios);
  result.verdict = verdict_of(result.all, least, 0);
  return result;
}

}  // namespace microbench
