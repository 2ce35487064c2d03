#include "viewer/window/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "viewer/model/ticks.h"

namespace viewer {

namespace {

constexpr std::size_t kFewestKept = 4;  // fewer, as in "di...", say nothing

struct Bounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // A line of one value still needs a height to be drawn in.
  Bounds widened(double fraction) const {
    const double length = high > low ? high - low : std::max(std::abs(high), 1.0) * 0.1;
    return {low - length * fraction, high + length * fraction};
  }
};

struct Axes {
  Rect inner;
  Bounds x, y;
  float place_x(double value) const {
    return inner.min.x + static_cast<float>((value - x.low) / (x.high - x.low)) * inner.width();
  }
  float place_y(double value) const {
    return inner.max.y - static_cast<float>((value - y.low) / (y.high - y.low)) * inner.height();
  }
};

std::optional<std::size_t> nearest(const std::vector<double>& ascending, double value) {
  if (ascending.empty()) return std::nullopt;
  const auto after = std::lower_bound(ascending.begin(), ascending.end(), value);
  if (after == ascending.begin()) return 0;
  const auto index = static_cast<std::size_t>(after - ascending.begin());
  if (after == ascending.end() || value - ascending[index - 1] < ascending[index] - value) {
    return index - 1;
  }
  return index;
}

void draw_grid(ImDrawList& draw, const Fonts& fonts, const Axes& axes) {
  const float line = fonts.small->FontSize;
  const ImU32 grid = to_u32(theme::kLine, 0.6F);
  const int most_y = std::max(2, static_cast<int>(axes.inner.height() / (line * 2.6F)));
  for (const Tick& tick : place_ticks(axes.y.low, axes.y.high, most_y)) {
    const float y = std::round(axes.place_y(tick.at));
    draw_line(draw, {axes.inner.min.x, y}, {axes.inner.max.x, y}, grid);
    draw_text(draw, *fonts.small, axes.inner.min.x - line * 0.5F, y, 1, theme::kMuted, tick.label);
  }
  const int most_x = std::max(2, static_cast<int>(axes.inner.width() / (line * 6)));
  for (const Tick& tick : place_ticks(axes.x.low, axes.x.high, most_x)) {
    const float x = std::round(axes.place_x(tick.at));
    draw_line(draw, {x, axes.inner.max.y}, {x, axes.inner.max.y + 4}, to_u32(theme::kLine));
    draw_text(draw, *fonts.small, x, axes.inner.max.y + line * 0.95F, 0.5F, theme::kMuted,
              tick.label);
  }
}

void draw_series(ImDrawList& draw, const Series& series, const Axes& axes) {
  const ImU32 color = to_u32(series.color);
  std::vector<ImVec2> points;
  const auto flush = [&] {
    if (points.size() > 1 && !series.dots) {
      const std::vector<ImVec2> line = thinned(points);
      // Not as one polyline, whose joints thin out where a line turns back on itself.
      for (std::size_t i = 1; i < line.size(); ++i) {
        draw_line(draw, line[i - 1], line[i], color, 1.8F);
      }
    }
    if (series.dots || points.size() == 1) {
      for (const ImVec2 point : points) draw.AddCircleFilled(point, scaled_px(3), color);
    }
    points.clear();
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (std::isfinite(series.y[i])) {
      points.push_back({axes.place_x(series.x[i]), axes.place_y(series.y[i])});
    } else {
      flush();
    }
  }
  flush();
}

void draw_legend(ImDrawList& draw, const Fonts& fonts, std::span<const Series> names, float right,
                 float y) {
  const float line = fonts.small->FontSize;
  for (auto series = names.rbegin(); series != names.rend(); ++series) {
    const float width = text_width(*fonts.small, series->name);
    draw_text(draw, *fonts.small, right, y, 1, theme::kMuted, series->name);
    draw_line(draw, {right - width - line * 1.6F, y}, {right - width - line * 0.4F, y},
              to_u32(series->color), 2.5F);
    right -= width + line * 2.6F;
  }
}

float legend_width(const Fonts& fonts, std::span<const Series> names) {
  float width = 0;
  for (const Series& series : names) {
    width += text_width(*fonts.small, series.name) + fonts.small->FontSize * 2.6F;
  }
  return width;
}

// The series in lines that are at most `width` wide, where one name fits.
std::vector<std::span<const Series>> legend_lines(const Fonts& fonts,
                                                  std::span<const Series> series, float width) {
  std::vector<std::span<const Series>> lines;
  while (!series.empty()) {
    std::size_t count = series.size();
    while (count > 1 && legend_width(fonts, series.first(count)) > width) --count;
    lines.push_back(series.first(count));
    series = series.subspan(count);
  }
  return lines;
}

void show_values(const Fonts& fonts, const LineChart& chart, const Axes& axes, ImDrawList& draw) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!axes.inner.contains(mouse) || !ImGui::IsWindowHovered()) return;
  const double at =
      axes.x.low + (mouse.x - axes.inner.min.x) / axes.inner.width() * (axes.x.high - axes.x.low);
  std::string text;
  for (const Series& series : chart.series) {
    const std::optional<std::size_t> index = nearest(series.x, at);
    if (!index || !std::isfinite(series.y[*index])) continue;
    if (text.empty()) text = fmt::format("{} {:g}", chart.x_label, series.x[*index]);
    text += fmt::format("\n{}: {:.5g}", series.name, series.y[*index]);
    draw.AddCircleFilled({axes.place_x(series.x[*index]), axes.place_y(series.y[*index])},
                         scaled_px(4), to_u32(series.color));
  }
  if (!text.empty()) ImGui::SetTooltip("%s", text.c_str());
  draw_line(draw, {mouse.x, axes.inner.min.y}, {mouse.x, axes.inner.max.y},
            to_u32(theme::kMuted, 0.4F));
  static_cast<void>(fonts);
}

}  // namespace

float text_width(const ImFont& font, std::string_view text) {
  return font.CalcTextSizeA(font.FontSize, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

std::string elided(const ImFont& font, std::string_view text, float width) {
  if (text_width(font, text) <= width) return std::string(text);
  const bool has_ellipsis = font.FindGlyphNoFallback(0x2026) != nullptr;
  const std::string_view ellipsis = has_ellipsis ? "\u2026" : "..";
  const float room = width - text_width(font, ellipsis);
  const char* rest = nullptr;
  font.CalcTextSizeA(font.FontSize, std::max(room, 0.0F), 0, text.data(), text.data() + text.size(),
                     &rest);
  const auto kept = static_cast<std::size_t>(rest - text.data());
  if (kept < kFewestKept || text_width(font, text.substr(0, kept)) > room) return {};
  return std::string(text.substr(0, kept)).append(ellipsis);
}

void draw_text(ImDrawList& draw, const ImFont& font, float x, float y, float anchor, Color color,
               std::string_view text) {
  const float left = anchor == 0 ? x : x - anchor * text_width(font, text);
  draw.AddText(&font, font.FontSize, {std::round(left), std::round(y - font.FontSize / 2)},
               to_u32(color), text.data(), text.data() + text.size());
}

std::vector<ImVec2> thinned(const std::vector<ImVec2>& points) {
  std::vector<ImVec2> kept;
  for (auto begin = points.begin(); begin != points.end();) {
    const auto end = std::find_if(begin, points.end(), [&](ImVec2 point) {
      return std::floor(point.x) != std::floor(begin->x);
    });
    const auto [low, high] =
        std::minmax_element(begin, end, [](ImVec2 a, ImVec2 b) { return a.y < b.y; });
    auto last = points.end();
    for (const auto at : {begin, std::min(low, high), std::max(low, high), end - 1}) {
      if (at != last) kept.push_back(*at);
      last = at;
    }
    begin = end;
  }
  return kept;
}

std::optional<double> draw_line_chart(const Fonts& fonts, const LineChart& chart, Rect area) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float line = fonts.small->FontSize;
  const std::string title = elided(*fonts.bold, chart.title, area.width());
  draw_text(draw, *fonts.bold, area.min.x, area.min.y + line * 0.7F, 0, theme::kText, title);

  Axes axes;
  for (const Series& series : chart.series) {
    for (const double x : series.x) axes.x.include(x);
    for (const double y : series.y) axes.y.include(y);
  }
  const bool has_legend = chart.series.size() > 1;
  // Beside the title where both fit, below it otherwise.
  const bool beside =
      text_width(*fonts.bold, title) + legend_width(fonts, chart.series) < area.width() - line * 2;
  const float legend_y = area.min.y + line * (beside ? 0.7F : 2.2F);
  const std::vector<std::span<const Series>> legend =
      legend_lines(fonts, chart.series, area.width() - line);
  const float legend_end =
      legend_y + line * 1.5F * static_cast<float>(std::max<std::size_t>(legend.size(), 1) - 1);
  axes.inner = {
      {area.min.x + line * 4, (has_legend ? legend_end : area.min.y + line * 0.7F) + line * 1.4F},
      {area.max.x - line, area.max.y - line * 3}};
  if (axes.x.empty() || axes.y.empty()) {
    draw_text(draw, *fonts.text, (area.min.x + area.max.x) / 2, (area.min.y + area.max.y) / 2, 0.5F,
              theme::kMuted, chart.empty_text);
    return std::nullopt;
  }
  if (axes.x.low == axes.x.high) axes.x = axes.x.widened(1);
  axes.y = axes.y.widened(0.06);

  draw_grid(draw, fonts, axes);
  draw_line(draw, {axes.inner.min.x, axes.inner.max.y}, axes.inner.max, to_u32(theme::kLine));
  draw_text(draw, *fonts.small, (axes.inner.min.x + axes.inner.max.x) / 2, area.max.y - line * 0.6F,
            0.5F, theme::kMuted, chart.x_label);
  for (std::size_t i = 0; has_legend && i < legend.size(); ++i) {
    draw_legend(draw, fonts, legend[i], axes.inner.max.x,
                legend_y + line * 1.5F * static_cast<float>(i));
  }

  draw.PushClipRect({axes.inner.min.x, axes.inner.min.y - 3},
                    {axes.inner.max.x + 3, axes.inner.max.y + 3}, true);
  if (chart.mark && chart.marked_x >= axes.x.low && chart.marked_x <= axes.x.high) {
    const float x = axes.place_x(chart.marked_x);
    draw_line(draw, {x, axes.inner.min.y}, {x, axes.inner.max.y}, to_u32(theme::kAccent, 0.6F),
              1.5F);
  }
  for (const Series& series : chart.series) draw_series(draw, series, axes);
  draw.PopClipRect();
  show_values(fonts, chart, axes, draw);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool inside =
      axes.inner.contains(mouse) && ImGui::IsWindowHovered(ImGuiHoveredFlags_RootAndChildWindows);
  if (!inside) return std::nullopt;
  const double share = (mouse.x - axes.inner.min.x) / axes.inner.width();
  return axes.x.low + share * (axes.x.high - axes.x.low);
}

}  // namespace viewer
