#pragma once

#include <span>
#include <vector>

namespace db {

/// Throws std::invalid_argument without values.
double mean(std::span<const double> values);

/// The median. For an even number of values it is the mean of the middle two. Throws
/// std::invalid_argument without values.
double median(std::vector<double> values);

/// Standard error of the median over the median, from the median absolute deviation (1.4826 MAD
/// estimates the deviation of normal noise, 1.2533/sqrt(n) of it is the error of a median). So a
/// few outliers do not prolong a measurement. Infinite for fewer than 3 values.
double relative_error_of_median(const std::vector<double>& values);

/// The t within which a share of Student's distribution with `degrees` degrees of freedom lies. Of
/// 95%: 12.71 for 1 degree, 1.96 for very many. Throws std::invalid_argument for less than 1 degree,
/// and for a share below 0 or not below 1.
double student_t(int degrees, double share = 0.95);

/// The value below which `share` (0 to 1) of the values lie, between neighbours in proportion.
/// `ascending` is sorted. Throws std::invalid_argument without values.
double quantile(const std::vector<double>& ascending, double share);

/// The values in ascending order or, where they are more than `most`, so many quantiles of them,
/// evenly apart from the smallest to the largest.
inline constexpr int kMostQuantiles = 101;
std::vector<double> quantiles_of(std::vector<double> values, int most = kMostQuantiles);

}  // namespace db
