#pragma once

#include <vector>

namespace microbench {

/// The probability that two samples of one distribution differ at least so much in their ranks:
/// Mann and Whitney's U, two-sided. Exact where one has at most 8 values and none is tied; else by
/// the normal approximation, corrected for ties and continuity. Nothing is assumed of the
/// distribution. 1 where one has no values.
double rank_test_p(const std::vector<double>& a, const std::vector<double>& b);

/// A ratio with the interval in which it lies with 95% confidence.
struct RatioInterval {
  double ratio = 1;
  double low = 1, high = 1;
};

/// How many times as large values of `b` are as values of `a`: the median of all ratios of one of
/// each (Hodges and Lehmann), with the interval that belongs to rank_test_p. All are above 0. Throws
/// std::invalid_argument where one has no values.
RatioInterval ratio_of(const std::vector<double>& a, const std::vector<double>& b);

/// The median of ratios, with the interval that the binomial distribution gives: from 0 to infinity
/// where there are fewer than 6. Throws std::invalid_argument without ratios.
RatioInterval median_of_ratios(std::vector<double> ratios);

/// Holm's correction: for each p the level at which it is significant when all are looked at.
std::vector<double> corrected_by_holm(const std::vector<double>& p);

}  // namespace microbench
