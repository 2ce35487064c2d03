#pragma once

#include <cstddef>
#include <functional>
#include <optional>
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
  /// None where there is no value: such a cell has neither colour nor figure.
  std::function<std::optional<double>(std::size_t row, std::size_t column)> value;
  std::function<std::string(std::size_t)> row_name;
  std::function<std::string(std::size_t)> column_name;
  double most = 1;            ///< the value at the bright end of the colours; 0 is the dark end
  int marked_row = -1;        ///< outlined
  int decimals = 0;           ///< of the figures in cells
  std::string subtitle = {};  ///< after the title
};

struct HeatMapCell {
  int row = -1;
  int column = -1;
};

/// The mean of the values in [rows) x [columns); none where there is no value.
std::optional<double> mean_of_cells(const HeatMap& map, std::size_t first_row, std::size_t end_row,
                                    std::size_t first_column, std::size_t end_column);

/// "0.53": the figure in a cell.
std::string cell_text(const HeatMap& map, double value);

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
