#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viewer/window/plot.h"

namespace viewer {

/// A point with the ranges that it may lie in.
struct ScatterPoint {
  double x = 0, y = 0;
  std::optional<std::pair<double, double>> x_range = {}, y_range = {};
  Color color = {};
  bool hollow = false;
  std::string text = {};  ///< the tooltip
  std::string name = {};  ///< beside the point, where it covers no other point or name
};

/// Points in a plane, and lines that help to read them. Each axis may be logarithmic.
struct ScatterChart {
  std::string title;
  std::string x_label, y_label;
  std::vector<ScatterPoint> points;
  std::vector<std::pair<double, double>> line;  ///< drawn through these, ascending in x
  std::string line_name;
  bool diagonal = false;                   ///< where x and y are equal, for axes of one kind
  std::optional<double> least_x, least_y;  ///< a bound: a dashed line
  std::string least_name;                  ///< of the bound of x, beside its line
  std::vector<double> marked_x;            ///< ticks at the lower edge
  bool log_x = false, log_y = false;
  const char* empty_text = "nothing to show";
};

/// Draws the chart. Returns the index of the point under the mouse.
std::optional<std::size_t> draw_scatter(const Fonts& fonts, const ScatterChart& chart, Rect area);

}  // namespace viewer
