#include "viewer/window/heat_map.h"

#include <algorithm>
#include <cmath>

#include "viewer/model/format.h"
#include "viewer/model/ticks.h"

namespace viewer {

namespace {

constexpr float kNarrowestCell_px = 2;
constexpr float kTop_lines = 3.5F,
                kBottom_lines = 3;  // room for title and names, in lines of small text

// Neighbouring rows or columns that share one drawn cell.
struct Blocks {
  std::size_t count = 0;     ///< cells drawn
  std::size_t of_items = 0;  ///< rows or columns there are
  std::size_t begin(std::size_t block) const { return block * of_items / count; }
  std::size_t end(std::size_t block) const { return std::max(begin(block) + 1, begin(block + 1)); }
};

Blocks blocks(std::size_t items, float pixels) {
  const auto fit = static_cast<std::size_t>(std::max(1.0F, pixels / kNarrowestCell_px));
  return {std::min(items, fit), items};
}

void draw_cells(ImDrawList& draw, const Fonts& fonts, const HeatMap& map, Rect inner) {
  const Blocks rows = blocks(map.rows, inner.height());
  const Blocks columns = blocks(map.columns, inner.width());
  const float height = inner.height() / static_cast<float>(rows.count);
  const float width = inner.width() / static_cast<float>(columns.count);
  const float gap = std::min(width, height) >= 10 ? 1 : 0;
  const bool labelled =
      width >= fonts.small->FontSize * 3.2F && height >= fonts.small->FontSize * 1.5F;
  for (std::size_t row = 0; row < rows.count; ++row) {
    for (std::size_t column = 0; column < columns.count; ++column) {
      const auto value = mean_of_cells(map, rows.begin(row), rows.end(row), columns.begin(column),
                                       columns.end(column));
      if (!value) continue;
      const Color color = heat(*value / map.most);
      const ImVec2 corner{inner.min.x + width * static_cast<float>(column),
                          inner.min.y + height * static_cast<float>(row)};
      draw.AddRectFilled(corner, {corner.x + width - gap, corner.y + height - gap}, to_u32(color));
      if (labelled) {
        draw_text(draw, *fonts.small, corner.x + width / 2, corner.y + height / 2, 0.5F,
                  text_on(color), cell_text(map, *value));
      }
    }
  }
}

// The widest of some of the names: of all where they are few.
float widest_name(const Fonts& fonts, std::size_t count,
                  const std::function<std::string(std::size_t)>& name) {
  float widest = 0;
  const std::size_t step = std::max<std::size_t>(1, count / 64);
  for (std::size_t i = 0; i < count; i += step) {
    widest = std::max(widest, text_width(*fonts.small, name(i)));
  }
  return widest;
}

// Labels rows (or columns) at a stride that leaves room between them.
std::size_t label_stride(std::size_t items, float pixels, float label_px) {
  const double fit = std::max(1.0F, pixels / label_px);
  const double needed = static_cast<double>(items) / fit;
  return needed <= 1 ? 1 : static_cast<std::size_t>(nice_step(needed));
}

void draw_names(ImDrawList& draw, const Fonts& fonts, const HeatMap& map, Rect inner,
                float margin) {
  const float line = fonts.small->FontSize;
  const float row_px = inner.height() / static_cast<float>(map.rows);
  const std::size_t row_stride = label_stride(map.rows, inner.height(), line * 1.5F);
  for (std::size_t row = 0; row < map.rows; row += row_stride) {
    draw_text(draw, *fonts.small, inner.min.x - line * 0.5F,
              inner.min.y + row_px * (static_cast<float>(row) + 0.5F), 1, theme::kMuted,
              elided(*fonts.small, map.row_name(row), margin - line * 0.5F));
  }
  const float column_px = inner.width() / static_cast<float>(map.columns);
  const float widest = widest_name(fonts, map.columns, map.column_name) + line * 0.8F;
  const std::size_t column_stride =
      label_stride(map.columns, inner.width(), std::max(line * 2.4F, widest));
  for (std::size_t column = 0; column < map.columns; column += column_stride) {
    draw_text(draw, *fonts.small, inner.min.x + column_px * (static_cast<float>(column) + 0.5F),
              inner.max.y + line * 0.9F, 0.5F, theme::kMuted, map.column_name(column));
  }
}

}  // namespace

std::optional<double> mean_of_cells(const HeatMap& map, std::size_t first_row, std::size_t end_row,
                                    std::size_t first_column, std::size_t end_column) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t r = first_row; r < end_row; ++r) {
    for (std::size_t c = first_column; c < end_column; ++c) {
      const std::optional<double> value = map.value(r, c);
      if (!value) continue;
      sum += *value;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

std::string cell_text(const HeatMap& map, double value) { return grouped(value, map.decimals); }

HeatMapCell draw_heat_map(const Fonts& fonts, const HeatMap& map, Rect area) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float line = fonts.small->FontSize;
  draw_text(draw, *fonts.bold, area.min.x, area.min.y + line * 0.7F, 0, theme::kText, map.title);
  if (!map.subtitle.empty()) {
    const float x = area.min.x + text_width(*fonts.bold, map.title) + line;
    const std::string shown = elided(*fonts.small, map.subtitle, area.max.x - x);
    draw_text(draw, *fonts.small, x, area.min.y + line * 0.7F, 0, theme::kMuted, shown);
  }
  HeatMapCell hovered;
  const float margin = std::clamp(widest_name(fonts, map.rows, map.row_name) + line, line * 4,
                                  std::max(line * 4, area.width() / 3));
  const Rect inner{{area.min.x + margin, area.min.y + line * kTop_lines},
                   {area.max.x, area.max.y - line * kBottom_lines}};
  if (map.rows == 0 || map.columns == 0 || inner.width() < line || inner.height() < line) {
    return hovered;
  }

  draw_text(draw, *fonts.small, area.min.x, area.min.y + line * 2.2F, 0, theme::kMuted,
            map.y_label);
  draw_text(draw, *fonts.small, (inner.min.x + inner.max.x) / 2, area.max.y - line * 0.6F, 0.5F,
            theme::kMuted, map.x_label);
  draw_cells(draw, fonts, map, inner);
  draw_names(draw, fonts, map, inner, margin);

  const float row_px = inner.height() / static_cast<float>(map.rows);
  const float column_px = inner.width() / static_cast<float>(map.columns);
  if (map.marked_row >= 0) {
    const float y = inner.min.y + row_px * static_cast<float>(map.marked_row);
    draw.AddRect({inner.min.x - 2, y - 1.5F}, {inner.max.x + 1, y + std::max(row_px, 2.0F) + 0.5F},
                 to_u32(theme::kAccent), 2, 0, line_px(2));
  }
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (inner.contains(mouse) && ImGui::IsWindowHovered()) {
    hovered.row = std::min(static_cast<int>(map.rows) - 1,
                           static_cast<int>((mouse.y - inner.min.y) / row_px));
    hovered.column = std::min(static_cast<int>(map.columns) - 1,
                              static_cast<int>((mouse.x - inner.min.x) / column_px));
    const ImVec2 corner{inner.min.x + column_px * static_cast<float>(hovered.column),
                        inner.min.y + row_px * static_cast<float>(hovered.row)};
    draw.AddRect(corner, {corner.x + column_px, corner.y + row_px}, to_u32(theme::kText), 0, 0,
                 line_px(1.5F));
  }
  return hovered;
}

void draw_color_bar(const Fonts& fonts, const ColorBar& scale, Rect area) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float line = fonts.small->FontSize;
  constexpr int kSteps = 64;
  const Rect bar{{area.min.x, area.min.y + line * kTop_lines},
                 {area.min.x + line * 1.2F, area.max.y - line * kBottom_lines}};
  const float step = bar.height() / kSteps;
  for (int i = 0; i < kSteps; ++i) {
    const float bottom = bar.max.y - step * static_cast<float>(i);
    const ImU32 low = to_u32(heat(i / static_cast<double>(kSteps)));
    const ImU32 high = to_u32(heat((i + 1) / static_cast<double>(kSteps)));
    draw.AddRectFilledMultiColor({bar.min.x, bottom - step}, {bar.max.x, bottom}, high, high, low,
                                 low);
  }
  const auto place = [&](double value) {
    return bar.max.y - bar.height() * static_cast<float>(value / scale.most);
  };
  const float mean_y = place(scale.mean);
  const int most_ticks = std::max(2, static_cast<int>(bar.height() / (line * 3)));
  for (const Tick& tick : place_ticks(0, scale.most, most_ticks)) {
    const float y = place(tick.at);
    const bool hidden = std::abs(y - mean_y) < line || (scale.open_ended && y - bar.min.y < line);
    if (hidden) continue;  // the mean's or the topmost label stands there
    draw_line(draw, {bar.max.x, y}, {bar.max.x + 4, y}, to_u32(theme::kMuted));
    draw_text(draw, *fonts.small, bar.max.x + 8, y, 0, theme::kMuted, tick.label);
  }
  if (scale.open_ended) {
    draw_text(draw, *fonts.small, bar.max.x + 8, bar.min.y, 0, theme::kMuted,
              grouped(scale.most, 0) + " +");
  }
  draw_line(draw, {bar.min.x - 3, mean_y}, {bar.max.x + 4, mean_y}, to_u32(theme::kText), 1.5F);
  draw_text(draw, *fonts.small, bar.max.x + 8, mean_y, 0, theme::kText,
            "mean " + grouped(scale.mean, 0));
  draw_text(draw, *fonts.small, area.min.x, area.min.y + line * 2.2F, 0, theme::kMuted,
            scale.label);
}

}  // namespace viewer
