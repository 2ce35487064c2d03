#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace tuner {

/// What points of ascending size say of `size`: between two of them linearly in the logarithm of
/// the size, beyond the first and the last what these say. There is at least one point,
/// and the sizes of points are above 0.
template <class Point>
double by_size(const std::vector<Point>& points, double size, double Point::*at,
               double Point::*value) {
  const auto after = std::ranges::lower_bound(points, size, {}, at);
  if (after == points.begin()) return points.front().*value;
  const Point& left = *std::prev(after);
  if (after == points.end()) return left.*value;
  const Point& right = *after;
  const double share = std::log(size / left.*at) / std::log(right.*at / left.*at);
  return left.*value + share * (right.*value - left.*value);
}

}  // namespace tuner
