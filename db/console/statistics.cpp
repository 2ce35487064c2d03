#include "db/console/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace db {

double mean(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("mean: no values");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median: no values");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double relative_error_of_median(const std::vector<double>& values) {
  if (values.size() < 3) return std::numeric_limits<double>::infinity();
  const double centre = median(values);
  std::vector<double> deviations;
  for (double value : values) deviations.push_back(std::abs(value - centre));
  const double deviation = 1.4826 * median(deviations);
  return 1.2533 * deviation / std::sqrt(static_cast<double>(values.size())) / centre;
}

double student_t(int degrees, double share) {
  if (degrees < 1) throw std::invalid_argument("student_t: less than one degree of freedom");
  if (!(share >= 0 && share < 1)) throw std::invalid_argument("student_t: no share below 1");
  return boost::math::quantile(boost::math::students_t(degrees), (1 + share) / 2);
}

double quantile(const std::vector<double>& ascending, double share) {
  if (ascending.empty()) throw std::invalid_argument("quantile: no values");
  const double place = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= ascending.size()) return ascending.back();
  const double part = place - static_cast<double>(below);
  return ascending[below] + part * (ascending[below + 1] - ascending[below]);
}

std::vector<double> quantiles_of(std::vector<double> values, int most) {
  std::ranges::sort(values);
  if (static_cast<int>(values.size()) <= most) return values;
  std::vector<double> quantiles;
  for (int i = 0; i < most; ++i) quantiles.push_back(quantile(values, i / (most - 1.0)));
  return quantiles;
}

}  // namespace db
