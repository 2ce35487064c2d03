#include "viewer/window/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "viewer/model/ticks.h"

namespace viewer {

namespace {

constexpr float kReach_px = 9;  // of the mouse

// One axis: values to [0, 1].
struct Scale {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool logarithmic = false;

  bool drawable(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
  double bent(double value) const { return logarithmic ? std::log10(value) : value; }
  void include(double value) {
    if (!drawable(value)) return;
    low = std::min(low, bent(value));
    high = std::max(high, bent(value));
  }
  void widen(double share) {
    const double length = high > low ? high - low : std::max(std::abs(high), 1.0) * 0.1;
    low -= length * share;
    high += length * share;
  }
  float place(double value) const { return static_cast<float>((bent(value) - low) / (high - low)); }
};

struct Plane {
  Rect inner;
  Scale x, y;

  ImVec2 at(double px, double py) const {
    return {inner.min.x + x.place(px) * inner.width(), inner.max.y - y.place(py) * inner.height()};
  }
};

// Decades of a logarithmic axis, or round values; their places are bent.
std::vector<Tick> axis_ticks(const Scale& scale, int most) {
  if (!scale.logarithmic) return place_ticks(scale.low, scale.high, most);
  std::vector<Tick> ticks;
  const auto first = static_cast<int>(std::ceil(scale.low)),
             last = static_cast<int>(std::floor(scale.high));
  const int step = std::max(1, (last - first + most) / std::max(most, 1));
  for (int decade = first; decade <= last; decade += step) {
    ticks.push_back({static_cast<double>(decade), fmt::format("1e{}", decade)});
  }
  return ticks;
}

void draw_axes(ImDrawList& draw, const Fonts& fonts, const Plane& plane) {
  const float line = fonts.small->FontSize;
  const Rect& inner = plane.inner;
  const int most_y = std::max(2, static_cast<int>(inner.height() / (line * 2.6F)));
  for (const Tick& tick : axis_ticks(plane.y, most_y)) {
    const double share = (tick.at - plane.y.low) / (plane.y.high - plane.y.low);
    const float y = std::round(inner.max.y - static_cast<float>(share) * inner.height());
    draw_line(draw, {inner.min.x, y}, {inner.max.x, y}, to_u32(theme::kLine, 0.6F));
    draw_text(draw, *fonts.small, inner.min.x - line * 0.5F, y, 1, theme::kMuted, tick.label);
  }
  const int most_x = std::max(2, static_cast<int>(inner.width() / (line * 6)));
  for (const Tick& tick : axis_ticks(plane.x, most_x)) {
    const double share = (tick.at - plane.x.low) / (plane.x.high - plane.x.low);
    const float x = std::round(inner.min.x + static_cast<float>(share) * inner.width());
    draw_line(draw, {x, inner.max.y}, {x, inner.max.y + 4}, to_u32(theme::kLine));
    draw_text(draw, *fonts.small, x, inner.max.y + line * 0.95F, 0.5F, theme::kMuted, tick.label);
  }
  draw_line(draw, {inner.min.x, inner.max.y}, inner.max, to_u32(theme::kLine));
}

void dashed(ImDrawList& draw, ImVec2 from, ImVec2 to, ImU32 color) {
  const float dx = to.x - from.x, dy = to.y - from.y;
  const float length = std::sqrt(dx * dx + dy * dy);
  const float dash = scaled_px(6);
  for (float at = 0; at < length; at += 2 * dash) {
    const float end = std::min(at + dash, length);
    draw_line(draw, {from.x + dx * at / length, from.y + dy * at / length},
              {from.x + dx * end / length, from.y + dy * end / length}, color, 1.5F);
  }
}

void draw_helping_lines(ImDrawList& draw, const Fonts& fonts, const ScatterChart& chart,
                        const Plane& plane) {
  const Rect& inner = plane.inner;
  if (chart.diagonal) {
    const double low = std::max(plane.x.low, plane.y.low),
                 high = std::min(plane.x.high, plane.y.high);
    const auto value = [&](double bent) { return chart.log_x ? std::pow(10, bent) : bent; };
    if (high > low) {
      dashed(draw, plane.at(value(low), value(low)), plane.at(value(high), value(high)),
             to_u32(theme::kMuted, 0.7F));
    }
  }
  if (chart.least_x && plane.x.drawable(*chart.least_x)) {
    const float x = inner.min.x + plane.x.place(*chart.least_x) * inner.width();
    dashed(draw, {x, inner.min.y}, {x, inner.max.y}, to_u32(theme::kBad));
    draw_text(draw, *fonts.small, x + fonts.small->FontSize * 0.5F,
              inner.max.y - fonts.small->FontSize, 0, theme::kBad, chart.least_name);
  }
  if (chart.least_y && plane.y.drawable(*chart.least_y)) {
    const float y = inner.max.y - plane.y.place(*chart.least_y) * inner.height();
    dashed(draw, {inner.min.x, y}, {inner.max.x, y}, to_u32(theme::kBad));
  }
  for (std::size_t i = 1; i < chart.line.size(); ++i) {
    draw_line(draw, plane.at(chart.line[i - 1].first, chart.line[i - 1].second),
              plane.at(chart.line[i].first, chart.line[i].second), to_u32(theme::kAccent, 0.8F),
              1.6F);
  }
  for (const double marked : chart.marked_x) {
    if (!plane.x.drawable(marked)) continue;
    const float x = inner.min.x + plane.x.place(marked) * inner.width();
    const float half = scaled_px(4);
    draw.AddTriangleFilled({x - half, inner.max.y + 1}, {x + half, inner.max.y + 1},
                           {x, inner.max.y - 1.5F * half}, to_u32(theme::kWarning));
  }
}

void draw_point(ImDrawList& draw, const ScatterPoint& point, const Plane& plane, bool hovered) {
  const ImVec2 at = plane.at(point.x, point.y);
  const ImU32 color = to_u32(point.color), faint = to_u32(point.color, 0.55F);
  if (point.x_range) {
    draw_line(draw, {plane.at(point.x_range->first, point.y).x, at.y},
              {plane.at(point.x_range->second, point.y).x, at.y}, faint, 1.4F);
  }
  if (point.y_range) {
    const float top = plane.at(point.x, point.y_range->second).y;
    const float bottom = plane.at(point.x, point.y_range->first).y;
    draw_line(draw, {at.x, top}, {at.x, bottom}, faint, 1.4F);
    const float cap = scaled_px(3);
    for (const float y : {top, bottom})
      draw_line(draw, {at.x - cap, y}, {at.x + cap, y}, faint, 1.4F);
  }
  const float radius = scaled_px(hovered ? 6 : 4);
  if (point.hollow) {
    draw.AddCircle(at, radius, color, 0, line_px(1.6F));
  } else {
    draw.AddCircleFilled(at, radius, color);
  }
}

bool overlap(const Rect& a, const Rect& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

// Those of earlier points come first; each stands at the right of its point, or else at the left,
// above the line that may go through it.
void draw_names(ImDrawList& draw, const Fonts& fonts, const ScatterChart& chart,
                const Plane& plane) {
  const float half = fonts.small->FontSize / 2, gap = scaled_px(5), radius = scaled_px(4);
  std::vector<Rect> taken;
  const auto is_free = [&](const Rect& place) {
    return place.min.x >= plane.inner.min.x && place.max.x <= plane.inner.max.x &&
           std::none_of(taken.begin(), taken.end(),
                        [&](const Rect& other) { return overlap(place, other); });
  };
  for (const ScatterPoint& point : chart.points) {
    const ImVec2 at = plane.at(point.x, point.y);
    taken.push_back({{at.x - radius, at.y - radius}, {at.x + radius, at.y + radius}});
  }
  for (const ScatterPoint& point : chart.points) {
    if (point.name.empty()) continue;
    const ImVec2 at = plane.at(point.x, point.y);
    const float width = text_width(*fonts.small, point.name);
    for (const float x : {at.x + gap, at.x - gap - width}) {
      const Rect place{{x, at.y - 2 * half}, {x + width, at.y}};
      if (!is_free(place)) continue;
      draw_text(draw, *fonts.small, x, at.y - half, 0, theme::kMuted, point.name);
      taken.push_back(place);
      break;
    }
  }
}

std::optional<std::size_t> nearest_point(const ScatterChart& chart, const Plane& plane) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!plane.inner.contains(mouse) || !ImGui::IsWindowHovered()) return std::nullopt;
  std::optional<std::size_t> nearest;
  float least = kReach_px * kReach_px;
  for (std::size_t i = 0; i < chart.points.size(); ++i) {
    if (!plane.x.drawable(chart.points[i].x) || !plane.y.drawable(chart.points[i].y)) continue;
    const ImVec2 at = plane.at(chart.points[i].x, chart.points[i].y);
    const float distance =
        (at.x - mouse.x) * (at.x - mouse.x) + (at.y - mouse.y) * (at.y - mouse.y);
    if (distance <= least) nearest = i, least = distance;
  }
  return nearest;
}

Plane plane_of(const ScatterChart& chart, Rect inner) {
  Plane plane{inner, {}, {}};
  plane.x.logarithmic = chart.log_x;
  plane.y.logarithmic = chart.log_y;
  for (const ScatterPoint& point : chart.points) {
    plane.x.include(point.x), plane.y.include(point.y);
    if (point.x_range)
      plane.x.include(point.x_range->first), plane.x.include(point.x_range->second);
    if (point.y_range)
      plane.y.include(point.y_range->first), plane.y.include(point.y_range->second);
  }
  for (const auto& [x, y] : chart.line) plane.x.include(x), plane.y.include(y);
  if (chart.least_x) plane.x.include(*chart.least_x);
  if (chart.least_y) plane.y.include(*chart.least_y);
  plane.x.widen(0.06);
  plane.y.widen(0.08);
  return plane;
}

}  // namespace

std::optional<std::size_t> draw_scatter(const Fonts& fonts, const ScatterChart& chart, Rect area) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float line = fonts.small->FontSize;
  draw_text(draw, *fonts.bold, area.min.x, area.min.y + line * 0.7F, 0, theme::kText, chart.title);
  if (!chart.line_name.empty()) {
    draw_text(draw, *fonts.small, area.max.x - line, area.min.y + line * 0.7F, 1, theme::kAccent,
              chart.line_name);
  }
  const Rect inner{{area.min.x + line * 5, area.min.y + line * 3.2F},
                   {area.max.x - line, area.max.y - line * 3}};
  if (chart.points.empty() || inner.width() < line * 4 || inner.height() < line * 3) {
    draw_text(draw, *fonts.text, (area.min.x + area.max.x) / 2, (area.min.y + area.max.y) / 2, 0.5F,
              theme::kMuted, chart.empty_text);
    return std::nullopt;
  }
  const Plane plane = plane_of(chart, inner);
  draw_axes(draw, fonts, plane);
  draw_text(draw, *fonts.small, inner.min.x - line * 4, area.min.y + line * 2.2F, 0, theme::kMuted,
            chart.y_label);
  draw_text(draw, *fonts.small, (inner.min.x + inner.max.x) / 2, area.max.y - line * 0.6F, 0.5F,
            theme::kMuted, chart.x_label);
  draw_helping_lines(draw, fonts, chart, plane);
  const std::optional<std::size_t> hovered = nearest_point(chart, plane);
  for (std::size_t i = 0; i < chart.points.size(); ++i) {
    const ScatterPoint& point = chart.points[i];
    if (!plane.x.drawable(point.x) || !plane.y.drawable(point.y)) continue;
    draw_point(draw, point, plane, hovered == i);
  }
  draw_names(draw, fonts, chart, plane);
  if (hovered) ImGui::SetTooltip("%s", chart.points[*hovered].text.c_str());
  return hovered;
}

}  // namespace viewer
