#include "tuner/machine/deviation.h"

#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <utility>

#include "db/console/statistics.h"

namespace tuner {
namespace {

double spread_of(const std::vector<double>& sizes) {
  return sizes.empty() ? 0 : 1.4826 * db::median(sizes);
}

/// Errors by schedule and moment.
using Medians = std::map<std::int64_t, std::map<int, double>>;

/// How far the machine changes from one moment to another.
double spread_of_moments(const Medians& medians) {
  std::map<std::pair<int, int>, std::vector<double>> differences;
  for (const auto& [schedule, moments] : medians) {
    for (auto one = moments.begin(); one != moments.end(); ++one) {
      for (auto other = std::next(one); other != moments.end(); ++other) {
        differences[{one->first, other->first}].push_back(one->second - other->second);
      }
    }
  }
  std::vector<double> sizes;
  for (const auto& [moments, all] : differences) sizes.push_back(std::abs(db::median(all)));
  return spread_of(sizes) / std::numbers::sqrt2;
}

}  // namespace

std::optional<double> deviation_of(std::span<const RunErrors> runs) {
  if (runs.empty()) return std::nullopt;
  std::map<std::int64_t, std::vector<double>> by_schedule;
  Medians medians;
  for (const RunErrors& run : runs) {
    std::vector<double>& all = by_schedule[run.schedule];
    all.insert(all.end(), run.errors.begin(), run.errors.end());
    medians[run.schedule][run.moment] = db::median(run.errors);
  }
  std::vector<double> sizes;
  for (const auto& [schedule, errors] : by_schedule) sizes.push_back(std::abs(db::median(errors)));
  return std::hypot(spread_of(sizes), spread_of_moments(medians));
}

}  // namespace tuner
