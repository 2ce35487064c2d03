#include "microbench/compare/rank_test.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "db/console/statistics.h"

namespace microbench {
namespace {

constexpr std::size_t kMostExact = 8;
constexpr double kQuantileOf95 = 1.959963984540054;  ///< of the normal distribution, two-sided

struct RankSum {
  double u = 0;     ///< pairs of which the value of `a` is larger, ties a half
  double ties = 0;  ///< sum of t^3 - t over the groups of t equal values
};

RankSum rank_sum(const std::vector<double>& a, const std::vector<double>& b) {
  struct Ranked {
    double value;
    bool of_a;
  };
  std::vector<Ranked> all;
  for (const double value : a) all.push_back({value, true});
  for (const double value : b) all.push_back({value, false});
  std::ranges::sort(all, {}, &Ranked::value);
  RankSum sum;
  double of_a = 0;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].value == all[begin].value) ++end;
    const auto equal = static_cast<double>(end - begin);
    const double rank = static_cast<double>(begin) + (equal + 1) / 2;
    for (std::size_t i = begin; i < end; ++i) of_a += all[i].of_a ? rank : 0;
    sum.ties += equal * equal * equal - equal;
  }
  const auto n = static_cast<double>(a.size());
  sum.u = of_a - n * (n + 1) / 2;
  return sum;
}

/// The probability that U of n and m values without ties is at least u, by counting the orders: those
/// of n and m values in which U is u are those of n - 1 and m (the largest is of the first) in
/// which it is u - m, and those of n and m - 1 in which it is u.
double exact_tail(std::size_t n, std::size_t m, double u) {
  const std::size_t most = n * m;
  // [values of the first][U], for 0, 1 ... m values of the second
  std::vector<std::vector<double>> orders(n + 1, std::vector<double>(most + 1));
  for (std::size_t i = 0; i <= n; ++i) orders[i][0] = 1;
  for (std::size_t j = 1; j <= m; ++j) {
    for (std::size_t i = 1; i <= n; ++i) {
      for (std::size_t at = j; at <= most; ++at) orders[i][at] += orders[i - 1][at - j];
    }
  }
  const std::vector<double>& counts = orders[n];
  const auto first = counts.begin() + static_cast<std::ptrdiff_t>(std::ceil(u));
  return std::accumulate(first, counts.end(), 0.0) /
         std::accumulate(counts.begin(), counts.end(), 0.0);
}

/// The probability that a value of the normal distribution is above z.
double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

}  // namespace

double rank_test_p(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const RankSum sum = rank_sum(a, b);
  const double u = std::max(sum.u, n * m - sum.u);
  if (std::min(a.size(), b.size()) <= kMostExact && sum.ties == 0) {
    return std::min(1.0, 2 * exact_tail(a.size(), b.size(), u));
  }
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - sum.ties / (all * (all - 1)));
  if (!(variance > 0)) return 1;
  return std::min(1.0, 2 * normal_tail((u - n * m / 2 - 0.5) / std::sqrt(variance)));
}

RatioInterval ratio_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (const double of_a : a) {
    for (const double of_b : b) ratios.push_back(of_b / of_a);
  }
  std::ranges::sort(ratios);
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double left_out = n * m / 2 - kQuantileOf95 * std::sqrt(n * m * (n + m + 1) / 12);
  const auto skipped = static_cast<std::size_t>(std::max(0.0, left_out - 1));
  return {db::median(ratios), ratios[skipped], ratios[ratios.size() - 1 - skipped]};
}

RatioInterval median_of_ratios(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  const std::size_t n = ratios.size();
  RatioInterval interval{db::median(ratios), 0, std::numeric_limits<double>::infinity()};
  // At most `skipped` of n values lie below their median with a probability of 2.5%.
  double below = std::pow(0.5, static_cast<double>(n)), term = below;
  for (std::size_t skipped = 0; below <= 0.025 && skipped < n / 2; ++skipped) {
    interval.low = ratios[skipped];
    interval.high = ratios[n - 1 - skipped];
    term *= static_cast<double>(n - skipped) / static_cast<double>(skipped + 1);
    below += term;
  }
  return interval;
}

std::vector<double> corrected_by_holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> corrected(p.size());
  double least = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto left = static_cast<double>(p.size() - place);
    least = std::max(least, std::min(1.0, left * p[order[place]]));
    corrected[order[place]] = least;
  }
  return corrected;
}

}  // namespace microbench
