#include "db/console/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace db {
namespace {

/// The share of Student's distribution between -t and t. [Abramowitz and Stegun 26.7.3, 26.7.4]
double share_within(double t, int degrees) {
  const double angle = std::atan(t / std::sqrt(degrees));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1, sum = 0;
  for (int power = odd ? 1 : 0; power <= degrees - 2; power += 2) {
    sum += term;
    term *= cosine * cosine * (power + 1) / (power + 2);
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median: no values");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double student_t(int degrees, double share) {
  if (degrees < 1) throw std::invalid_argument("student_t: less than one degree of freedom");
  double low = 0, high = 13;  // 12.706 for one
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (share_within(middle, degrees) < share ? low : high) = middle;
  }
  return high;
}

}  // namespace db
