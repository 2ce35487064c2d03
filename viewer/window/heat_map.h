#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "viewer/window/plot.h"

namespace viewer {

/// A table of values as colours: rows run downwards, columns to the right.
struct HeatMap {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::function<double(std::size_t row, std::size_t column)> value;
  std::function<std::string(std::size_t)> row_name;
  std::function<std::string(std::size_t)> column_name;
  double most = 1;      ///< the value at the bright end of the colours; 0 is the dark end
  int marked_row = -1;  ///< outlined
};

struct HeatMapCell {
  int row = -1;
  int column = -1;
};

/// Draws the map and returns the cell under the mouse, -1 where there is none. Cells that are large
/// enough carry their value; where there are more rows or columns than pixels, a mark shows the
/// mean of those that it covers.
HeatMapCell draw_heat_map(const Fonts& fonts, const HeatMap& map, Rect area);

struct ColorBar {
  std::string label;
  double most = 1;          ///< the value at the bright end; 0 is the dark end
  double mean = 0;          ///< the mean, which is marked
  bool open_ended = false;  ///< larger values have the brightest colour too
};

/// The colours with labelled ticks.
void draw_color_bar(const Fonts& fonts, const ColorBar& bar, Rect area);

}  // namespace viewer
