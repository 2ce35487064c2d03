#include "tuner/costs/mixed_rates.h"

#include <algorithm>
#include <cmath>

#include "db/console/statistics.h"

namespace tuner {
namespace {

constexpr double kOtherRate = 1.5;
constexpr double kLeastOutlier = 0.2;

}  // namespace

std::optional<MixedRates> find_mixed_rates(
    const std::map<std::int64_t, std::vector<Sample>>& samples_of_run) {
  if (samples_of_run.size() < 2) return std::nullopt;
  const auto most = std::max_element(
      samples_of_run.begin(), samples_of_run.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const LinearFit line = fit_line_without_outliers(most->second, "byte", kLeastOutlier);
  std::optional<MixedRates> mixed;
  for (const auto& [run, samples] : samples_of_run) {
    if (run == most->first) continue;
    std::vector<double> ratios;
    for (const Sample& sample : samples) {
      const double expected_s = seconds_of(line, sample.calls, sample.units);
      if (sample.units >= line.min_units) ratios.push_back(sample.seconds / expected_s);
    }
    if (ratios.size() < 2) continue;
    const double ratio = db::median(ratios);
    const double distance = std::abs(std::log(ratio));
    if (distance < std::log(kOtherRate)) continue;
    if (!mixed || distance > std::abs(std::log(mixed->ratio))) {
      mixed = MixedRates{most->first, run, ratio};
    }
  }
  return mixed;
}

}  // namespace tuner
