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
constexpr double kLeastNoise = 0.001;
constexpr double kMostLimit = 9;  ///< ten times as long is never called noise

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

/// `limit`: the share that a ratio differs by at most where nothing has changed.
Verdict verdict_of(const RatioInterval& interval, double limit) {
  if (interval.ratio > 1 + limit && interval.low > 1) return Verdict::slower;
  if (interval.ratio < 1 / (1 + limit) && interval.high < 1) return Verdict::faster;
  return Verdict::within_noise;
}

/// Half of what lies between the quartiles, over the median; never 0, since clocks are coarse.
double own_noise(const std::vector<double>& quantiles) {
  const double between = db::quantile(quantiles, 0.75) - db::quantile(quantiles, 0.25);
  return std::max(kLeastNoise, between / 2 / db::median(quantiles));
}

/// How many times their spread `cases` ratios may deviate by chance: more where these are few,
/// since the spread is then hardly known.
double spreads_of_noise(std::size_t cases) { return 4 + 32 / static_cast<double>(cases); }

/// By how many times their own noise ratios deviate from their median.
double spread_of(const std::vector<double>& ratios, const std::vector<double>& noise) {
  if (ratios.size() < kFewestForSpread) return 0;
  const double middle = db::median(ratios);
  std::vector<double> deviations;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    deviations.push_back(std::abs(std::log(ratios[i] / middle)) / noise[i]);
  }
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
    case Verdict::too_few_samples:
      return "too few samples";
  }
  throw std::invalid_argument("name_of: no such verdict");
}

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
  std::vector<double> p, ratios, noise;
  std::vector<bool> are_apart;
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
    are_apart.push_back(row.quantiles.back() < other.quantiles.front() ||
                        other.quantiles.back() < row.quantiles.front());
    noise.push_back(own_noise(row.quantiles) + own_noise(other.quantiles));
    result.cases.push_back(std::move(compared));
  }
  for (const auto& [key, row] : of_after) {
    if (!of_before.contains(key)) ++result.only_after;
  }
  if (result.cases.empty()) return result;
  const double spreads = spreads_of_noise(ratios.size()) * spread_of(ratios, noise);
  const std::vector<double> corrected = corrected_by_holm(p);
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    ComparedCase& compared = result.cases[i];
    compared.p = corrected[i];
    compared.limit = std::max(least, std::min(kMostLimit, std::expm1(spreads * noise[i])));
    const Verdict beyond = verdict_of(compared.ratio, compared.limit);
    if (compared.p < kSignificant) {
      compared.verdict = beyond;
    } else if (beyond != Verdict::within_noise && are_apart[i]) {
      compared.verdict = Verdict::too_few_samples;
    }
  }
  result.all = median_of_ratios(ratios);
  result.verdict = verdict_of(result.all, least);
  return result;
}

}  // namespace microbench
