#include "tuner/study/compute_slowdown.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/console/statistics.h"
#include "tuner/costs/beside.h"

namespace tuner {
namespace {

struct Seconds {
  double measured = 0;
  double expected = 0;
  void add(const Seconds& other) {
    measured += other.measured;
    expected += other.expected;
  }
};

const LinearFit* fit_of(const CostModel& costs, const std::string& shape, const std::string& kind) {
  auto fit = costs.fits.find(shape);
  if (fit == costs.fits.end()) fit = costs.fits.find(kind);
  return fit == costs.fits.end() ? nullptr : &fit->second;
}

/// The seconds of the observations that were alone.
Seconds seconds_alone(const std::vector<Observation>& observations, const LinearFit& fit,
                      bool ranks_share_processors) {
  Seconds sum;
  std::vector<double> ratios;
  for (const Observation& observation : observations) {
    const Sample& sample = observation.sample;
    if (observation.beside.any > kAlone * sample.seconds) continue;
    const double expected = seconds_of(fit, sample.calls, sample.units);
    if (!(expected > 0)) continue;
    sum.add({sample.seconds, expected});
    ratios.push_back(sample.seconds / expected);
  }
  if (!ratios.empty() && !ranks_share_processors) sum.measured = sum.expected * db::median(ratios);
  return sum;
}

std::string_view kind_of(std::string_view key) { return key.substr(0, key.find('[')); }

bool is_of_link(std::string_view key) { return key.find('/') != std::string_view::npos; }

bool is_of_copies(std::string_view key, const Observations& seen) {
  const auto kind = seen.copies.find(std::string(kind_of(key)));
  return key == "copy" || (kind != seen.copies.end() && kind->second);
}

LinearFit times(LinearFit fit, double factor) {
  fit.alpha_s *= factor;
  fit.beta_s_per_unit *= factor;
  if (fit.alpha_error_s) *fit.alpha_error_s *= factor;
  if (fit.beta_error_s_per_unit) *fit.beta_error_s_per_unit *= factor;
  for (SizeTime& point : fit.points) point.seconds *= factor;
  return fit;
}

}  // namespace

std::optional<ComputeSlowdown> compute_slowdown(const Observations& seen, const CostModel& costs,
                                                bool ranks_share_processors) {
  Seconds by_flops, by_bytes;
  for (const auto& [shape, observations] : seen.compute) {
    const std::string& kind = seen.kind_of.at(shape);
    const LinearFit* fit = fit_of(costs, shape, kind);
    if (seen.copies.at(kind) || fit == nullptr) continue;
    (seen.by_flops.at(kind) ? by_flops : by_bytes)
        .add(seconds_alone(observations, *fit, ranks_share_processors));
  }
  Seconds all = by_flops;
  all.add(by_bytes);
  if (!(all.expected > 0)) return std::nullopt;
  const double of_all = all.measured / all.expected;
  const auto ratio = [&](const Seconds& seconds) {
    return seconds.expected > 0 ? seconds.measured / seconds.expected : of_all;
  };
  return ComputeSlowdown{ratio(by_flops), ratio(by_bytes), of_all};
}

CostModel slowed(CostModel costs, const ComputeSlowdown& slowdown, const Observations& seen) {
  for (auto& [key, fit] : costs.fits) {
    if (is_of_link(key) || is_of_copies(key, seen) || fit.unit == "second") continue;
    const double factor = fit.unit == "flop" ? slowdown.by_flops : slowdown.by_bytes;
    fit = times(std::move(fit), factor);
  }
  return costs;
}

}  // namespace tuner
