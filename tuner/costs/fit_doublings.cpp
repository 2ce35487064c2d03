#include "tuner/costs/fit_doublings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "db/console/statistics.h"

namespace tuner {
namespace {

constexpr double kBeyond = 4;  ///< points lie so many times beyond the sizes of samples

struct Doubling {
  std::vector<double> units, off_line;
};

}  // namespace

LinearFit fit_doublings(std::span<const Sample> samples, std::string unit) {
  LinearFit fit = fit_line(samples, std::move(unit));
  std::map<int, Doubling> doublings;
  for (const Sample& sample : samples) {
    if (!(sample.units > 0)) return fit;
    const double units = units_per_call(sample.calls, sample.units);
    Doubling& doubling = doublings[std::ilogb(units)];
    doubling.units.push_back(units);
    doubling.off_line.push_back(sample.seconds / seconds_of(fit, sample.calls, sample.units));
  }
  if (doublings.size() < 2) return fit;
  std::vector<SizeTime> points;
  const auto add = [&](double units, double off_line) {
    const double seconds = off_line * seconds_of(fit, 1, units);
    points.push_back({units, points.empty() ? seconds : std::max(seconds, points.back().seconds)});
  };
  const Doubling &first = doublings.begin()->second, &last = doublings.rbegin()->second;
  add(db::median(first.units) / kBeyond, db::median(first.off_line));
  for (const auto& [exponent, of] : doublings) add(db::median(of.units), db::median(of.off_line));
  add(kBeyond * db::median(last.units), db::median(last.off_line));
  fit.points = std::move(points);
  return fit;
}

}  // namespace tuner
