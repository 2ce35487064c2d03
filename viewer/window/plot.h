#pragma once

#include <imgui.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/window/theme.h"

/// Charts drawn with ImDrawList. Every function draws inside the rectangle that it is given.
namespace viewer {

struct Rect {
  ImVec2 min;
  ImVec2 max;

  float width() const { return max.x - min.x; }
  float height() const { return max.y - min.y; }
  bool contains(ImVec2 point) const {
    return point.x >= min.x && point.x < max.x && point.y >= min.y && point.y < max.y;
  }
};

/// `text` where it fits into `width`, else its longest beginning that fits with an ellipsis. Empty
/// where fewer than four characters would be left.
std::string elided(const ImFont& font, std::string_view text, float width);

float text_width(const ImFont& font, std::string_view text);

/// Text with its left edge, middle or right edge (anchor 0, 0.5, 1) at x and its vertical middle at
/// y.
void draw_text(ImDrawList& draw, const ImFont& font, float x, float y, float anchor, Color color,
               std::string_view text);

/// The points of a line that its picture needs: in each column of pixels the first, the lowest, the
/// highest and the last. `points` ascend in x.
std::vector<ImVec2> thinned(const std::vector<ImVec2>& points);

struct Series {
  std::string name;
  Color color;
  std::vector<double> x;  ///< ascending
  std::vector<double> y;  ///< a value that is not finite interrupts the line
  bool dots = false;      ///< marks of single places, which no line joins
};

struct LineChart {
  std::string title;
  std::string x_label;
  std::vector<Series> series;
  double marked_x = 0;  ///< a vertical line, where `mark` is set
  bool mark = false;
  const char* empty_text = "nothing recorded";
};

/// Axes, grid, legend and lines; while the mouse is inside, the values at the nearest x as a
/// tooltip. Returns the x under the mouse, none while it is elsewhere.
std::optional<double> draw_line_chart(const Fonts& fonts, const LineChart& chart, Rect area);

}  // namespace viewer
