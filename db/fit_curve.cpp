#include "db/fit_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/error.h"

namespace db {

double seconds_at(std::span<const SizeTime> points, double units) {
  const auto found = std::ranges::lower_bound(points, units, {}, &SizeTime::units);
  const auto after = std::clamp(found, std::next(points.begin()), std::prev(points.end()));
  const SizeTime &left = *std::prev(after), &right = *after;
  const double share = (units - left.units) / (right.units - left.units);
  const double seconds = left.seconds + share * (right.seconds - left.seconds);
  const SizeTime &first = points.front(), &last = points.back();
  if (units < first.units) return std::max(seconds, first.seconds * units / first.units);
  return units > last.units ? std::max(seconds, last.seconds) : seconds;
}

std::string json_of_points(std::span<const SizeTime> points) {
  if (points.empty()) return "";
  nlohmann::json list = nlohmann::json::array();
  for (const SizeTime& point : points) list.push_back({point.units, point.seconds});
  return list.dump();
}

std::vector<SizeTime> points_of_json(std::string_view text) {
  std::vector<SizeTime> points;
  if (text.empty()) return points;
  try {
    for (const auto& [units, seconds] :
         nlohmann::json::parse(text).get<std::vector<std::pair<double, double>>>()) {
      points.push_back({units, seconds});
    }
  } catch (const nlohmann::json::exception&) {
    points.clear();
  }
  const bool ascends = std::ranges::adjacent_find(points, std::ranges::greater_equal{},
                                                  &SizeTime::units) == points.end();
  if (points.size() < 2 || !ascends) {
    throw Error(
        ErrorKind::invalid,
        fmt::format(
            "points_json {}: expected [[units, seconds], ...], two or more, sizes ascending",
            text));
  }
  return points;
}

double fitted_s(const Fit& fit, double units) {
  const std::vector<SizeTime> points = points_of_json(fit.points_json);
  if (!points.empty()) return seconds_at(points, units);
  return fit.alpha_s + fit.beta_s_per_unit * units;
}

}  // namespace db
