#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/records.h"

/// How long something takes by its size, as points tell it.
namespace db {

/// How long a call of this size takes.
struct SizeTime {
  double units = 0;
  double seconds = 0;
  friend bool operator==(const SizeTime&, const SizeTime&) = default;
};

/// The time of a size between two points lies on the straight piece that joins them. The first piece
/// and the last go on beyond the points: smaller sizes do not run at a higher rate than the first
/// point, and larger ones take no less time than the last. `points`: two or more, sizes ascending.
///   [MPMoE 4.2: "piecewise-linear"; Lancet 5.3: "interpolate", both printed]
double seconds_at(std::span<const SizeTime> points, double units);

/// Fit::points_json of these points, "" of none, and back. Throws db::Error for a text
/// that is no list of two or more such points.
std::string json_of_points(std::span<const SizeTime> points);
std::vector<SizeTime> points_of_json(std::string_view text);

/// The seconds of a call of this size. Throws as points_of_json.
double fitted_s(const Fit& fit, double units);

}  // namespace db
