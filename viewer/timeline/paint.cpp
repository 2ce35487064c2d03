#include "viewer/timeline/paint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/format.h"
#include "viewer/model/ticks.h"
#include "viewer/timeline/annotations.h"
#include "viewer/timeline/memory_strip.h"
#include "viewer/timeline/rank_view.h"

namespace viewer {

namespace {

constexpr float kTick_em = 8;  // room that a time label takes
constexpr float kLeastLabel_px = 14;

std::vector<Tick> time_ticks(const Fonts& fonts, const AxisPixels& axis) {
  const int most =
      std::max(2, static_cast<int>((axis.right - axis.left) / (kTick_em * fonts.small->FontSize)));
  return place_time_ticks(axis.view.begin_s, axis.view.end_s, most);
}

void paint_grid(const Canvas& canvas) {
  for (const Tick& tick : time_ticks(canvas.fonts, canvas.axis)) {
    const float x = std::round(canvas.axis.to_px(tick.at));
    if (x < canvas.axis.left) continue;
    draw_line(canvas.draw, {x, canvas.area.min.y}, {x, canvas.area.max.y},
              to_u32(theme::kLine, 0.45F));
  }
}

void paint_own_ruler(const Canvas& canvas, const AxisMap& map, float y) {
  AxisPixels own = canvas.axis;
  own.view = map.to_time(canvas.axis.view);
  own.view = {own.view.begin_s - map.origin_s, own.view.end_s - map.origin_s};
  for (const Tick& tick : time_ticks(canvas.fonts, own)) {
    const float x = std::round(own.to_px(tick.at));
    if (x < own.left) continue;
    draw_line(canvas.draw, {x, y + canvas.fonts.small->FontSize * 0.5F},
              {x, y + canvas.fonts.small->FontSize * 1.1F}, to_u32(theme::kMuted, 0.6F));
    draw_text(canvas.draw, *canvas.fonts.small, x + 4, y, 0, theme::kMuted, tick.label);
  }
}

// The facts after the title, the most telling first. Those that do not fit are left out.
std::vector<std::string> header_facts(const StackEntry& entry, const Summary& summary,
                                      bool is_marked) {
  const db::TimelineInfo& info = entry.timeline->info;
  if (!entry.timeline->complete) {
    return {fmt::format("{}, loading: {} spans so far", info.kind,
                        grouped(static_cast<double>(entry.timeline->spans), 0))};
  }
  const std::string length = duration_text(entry.timeline->extent.length_s());
  std::vector<std::string> facts = {fmt::format("{} {}", info.kind, length)};
  if (!entry.comparison.empty()) facts.push_back(entry.comparison);
  if (info.kind == db::kMeasured && !entry.comparison.empty()) {
    // The trial's figure first: that of one iteration of one repeat differs from it.
    facts = {"measured", entry.comparison, "this iteration " + length};
  }
  for (std::string& fact : summary_facts(summary, is_marked)) facts.push_back(std::move(fact));
  if (!entry.source.empty()) facts.push_back(entry.source);
  return facts;
}

void paint_header(const Canvas& canvas, const StackEntry& entry, const Summary& summary,
                  const PlacedHeader& header, const AxisMap& map, const TimelinePanel& panel) {
  const float em = canvas.fonts.text->FontSize;
  const float top = canvas.top + header.y + em * 0.25F;
  canvas.draw.AddRectFilled({canvas.area.min.x, top},
                            {canvas.area.max.x, canvas.top + header.y + header.height},
                            to_u32(theme::kHeader), 3);
  const float y = top + em * 0.8F;
  const float right = canvas.area.max.x - em * 0.5F;
  float x = canvas.area.min.x + em * 0.5F;
  const std::vector<std::string> facts = header_facts(entry, summary, panel.range.has_value());
  const float needed = text_width(*canvas.fonts.text, facts.front()) + em;
  const std::string title = elided(*canvas.fonts.bold, entry.title, right - x - needed);
  draw_text(canvas.draw, *canvas.fonts.bold, x, y, 0, theme::kText, title);
  x += text_width(*canvas.fonts.bold, title) + em;
  for (const std::string& fact : facts) {
    const float width = text_width(*canvas.fonts.text, fact);
    if (x + width > right) break;
    const bool compared = fact == entry.comparison;
    draw_text(canvas.draw, *canvas.fonts.text, x, y, 0, compared ? theme::kAccent : theme::kMuted,
              fact);
    x += width + em * 1.5F;
  }
  if (panel.own_axis) paint_own_ruler(canvas, map, top + em * 1.95F);
}

void paint_gutter(const Canvas& canvas, const RankView& ranks, const Lane& lane,
                  const PlacedLane& placed, float y) {
  const float em = canvas.fonts.text->FontSize;
  const float middle = y + placed.height / 2;
  if (placed.first_of_rank) {
    if (ranks.choice.pinned.contains(lane.rank)) {
      canvas.draw.AddCircleFilled({canvas.area.min.x + em * 0.25F, middle}, em * 0.17F,
                                  to_u32(theme::kAccent));
    }
    draw_text(canvas.draw, *canvas.fonts.bold, canvas.area.min.x + em * 0.5F, middle, 0,
              theme::kText, fmt::format("rank {}", lane.rank));
  }
  if (!placed.first_of_stream) return;
  const float room = canvas.axis.left - canvas.area.min.x - em * 5.2F;
  draw_text(canvas.draw, *canvas.fonts.small, canvas.axis.left - em * 0.6F, middle, 1,
            theme::kMuted, elided(*canvas.fonts.small, lane.stream, room));
}

void paint_label(const Canvas& canvas, const OpStyle& style, Color text, float x0, float x1,
                 float y, float height) {
  const ImFont& font = *canvas.fonts.small;
  if (height < font.FontSize + 1) return;
  x0 = std::max(x0, canvas.axis.left) +
       4;  // a span that began before the view keeps its label in view
  x1 = std::min(x1, canvas.axis.right) - 3;
  const float room = x1 - x0;
  if (room < font.FontSize) return;
  const auto fits = [&](const std::string& label) { return text_width(font, label) <= room; };
  const auto label = std::find_if(style.labels.begin(), style.labels.end(), fits);
  draw_text(canvas.draw, font, x0, y + height / 2, 0, text,
            label != style.labels.end() ? *label : elided(font, style.labels[1], room));
}

// A mark with much idle time is pale, so that dense and sparse runs differ.
Color mark_color(const Mark& mark, Color fill, double px_s) {
  if (mark.count == 1) return fill;
  const double length_s = std::max(mark.end_s - mark.begin_s, px_s);
  return mix(theme::kLane, fill, static_cast<float>(std::clamp(mark.busy_s / length_s, 0.35, 1.0)));
}

// What decides how the marks of a timeline look.
struct MarkLook {
  const std::vector<OpStyle>& styles;
  const std::vector<Color>* colors;  // by op, instead of those of the styles; may be null
  const std::vector<bool>* lit;      // by op: those that are not dimmed; null for all
  const std::string& highlighted;    // the kind that is not dimmed; empty for all

  bool dims(std::int32_t op) const {
    const auto at = static_cast<std::size_t>(op);
    if (lit != nullptr && at < lit->size() && !(*lit)[at]) return true;
    return !highlighted.empty() && highlighted != styles[at].legend_kind;
  }
};

// Where the label of a span stands: in the longer of its waiting, which is hatched and dark, and
// its transfer.
struct LabelPlace {
  float x0 = 0;
  float x1 = 0;
  bool is_dark = false;
};

LabelPlace label_place(const Canvas& canvas, const LaneSpan& span, const AxisMap& map, float x0,
                       float x1) {
  const double transfer_s = span.start_s + span.waiting_s;
  const float after = std::clamp(canvas.axis.to_px(map.to_axis(transfer_s)), x0, x1);
  if (after - x0 > x1 - after) return {x0, after, true};
  return {after, x1, false};
}

void paint_marks(const Canvas& canvas, const Lane& lane, const MarkLook& look, const AxisMap& map,
                 float y, float height) {
  const double px_s = canvas.axis.seconds_per_px() / map.scale;
  const float top = y + 1, bottom = y + height - 1, hair = line_px();
  for (const Mark& mark : fold(lane, map.to_time(canvas.axis.view), px_s)) {
    const OpStyle& style = look.styles[mark.op];
    const Color full = look.colors == nullptr ? style.fill : (*look.colors)[mark.op];
    const float x0 = std::max(canvas.axis.left, canvas.axis.to_px(map.to_axis(mark.begin_s)));
    float x1 = std::min(canvas.axis.right, canvas.axis.to_px(map.to_axis(mark.end_s)));
    if (x1 < canvas.axis.left) continue;
    x1 = x1 - x0 > 4 * hair ? x1 - hair
                            : std::max(x1, x0 + 1);  // a hair of background between neighbours
    const bool dimmed = look.dims(mark.op);
    const Color fill = mark_color(mark, full, px_s);
    canvas.draw.AddRectFilled({x0, top}, {x1, bottom},
                              to_u32(dimmed ? mix(fill, theme::kLane, 0.8F) : fill));
    if (mark.count == 1 && lane.spans[mark.first].waiting_s > 0) {
      paint_waiting(canvas, lane.spans[mark.first], map, y, height);
    }
    if (mark.count == 1 && x1 - x0 > kLeastLabel_px) {
      const LabelPlace place = label_place(canvas, lane.spans[mark.first], map, x0, x1);
      const Color text = place.is_dark            ? theme::kText
                         : look.colors == nullptr ? style.text
                                                  : text_on(full);
      paint_label(canvas, style, dimmed ? theme::kMuted : text, place.x0, place.x1, y, height);
    }
  }
}

void paint_selection(const Canvas& canvas, TimelinePanel& panel, std::span<const StackEntry> stack,
                     const StackLayout& layout) {
  if (!panel.selected) return;
  const TimeRange extent = stack_extent(stack);
  for (std::size_t s = 0; s < stack.size(); ++s) {
    const Timeline& timeline = *stack[s].timeline;
    const bool own = s == panel.selected->stack;
    const std::optional<WholeOp> op = counterpart_of_selected(panel, stack, s);
    if (!op) continue;
    for (const SpanPosition at : op->spans) {
      const PlacedLane* placed = find_placed(layout, s, at.lane);
      if (placed == nullptr) continue;
      const bool itself = own && at == panel.selected->at;
      outline(canvas, timeline.lanes[at.lane].spans[at.span],
              axis_map(timeline, panel.own_axis, extent), *placed,
              itself ? rgb(0xFFFFFF) : theme::kAccent);
    }
  }
}

bool is_one_of(std::array<std::size_t, 2> pair, std::size_t stack) {
  return pair[0] == stack || pair[1] == stack;
}

void paint_range(ImDrawList& draw, const TimelinePanel& panel, const AxisPixels& axis, Rect area) {
  if (!panel.range) return;
  const float x0 = std::max(axis.left, axis.to_px(panel.range->begin_s));
  const float x1 = std::min(axis.right, axis.to_px(panel.range->end_s));
  if (x1 <= x0) return;
  draw.AddRectFilled({x0, area.min.y}, {x1, area.max.y}, to_u32(theme::kAccent, 0.07F));
  draw_line(draw, {x0, area.min.y}, {x0, area.max.y}, to_u32(theme::kAccent, 0.8F));
  draw_line(draw, {x1, area.min.y}, {x1, area.max.y}, to_u32(theme::kAccent, 0.8F));
}

void paint_ticks(ImDrawList& draw, const Fonts& fonts, const AxisPixels& axis, Rect area, float y) {
  const float em = fonts.small->FontSize;
  for (const Tick& tick : time_ticks(fonts, axis)) {
    const float x = std::round(axis.to_px(tick.at));
    const float half = text_width(*fonts.small, tick.label) / 2;
    if (x < axis.left - 1) continue;
    draw_line(draw, {x, area.max.y - em * 0.5F}, {x, area.max.y}, to_u32(theme::kMuted));
    if (x + half < area.max.x + em) {
      draw_text(draw, *fonts.small, x, y, 0.5F, theme::kMuted, tick.label);
    }
  }
}

}  // namespace

const PlacedLane* find_placed(const StackLayout& layout, std::size_t stack, std::size_t lane) {
  const std::size_t place = layout.places[stack][lane];
  return place < layout.lanes.size() ? &layout.lanes[place] : nullptr;
}

void outline(const Canvas& canvas, const LaneSpan& span, const AxisMap& map,
             const PlacedLane& placed, Color color, float thickness) {
  const float x0 = canvas.axis.to_px(map.to_axis(span.start_s));
  const float x1 = std::max(canvas.axis.to_px(map.to_axis(span.end_s)), x0 + 2);
  if (x1 < canvas.axis.left || x0 > canvas.axis.right) return;
  const float y = canvas.top + placed.y;
  canvas.draw.AddRect({std::max(x0 - 1, canvas.axis.left), y},
                      {std::min(x1, canvas.axis.right), y + placed.height}, to_u32(color), 2, 0,
                      line_px(thickness));
}

void paint_lanes(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                 const StackLayout& layout, const AxisPixels& axis, Rect area) {
  Canvas canvas{*ImGui::GetWindowDrawList(), fonts, axis, area, area.min.y - ImGui::GetScrollY()};
  const TimeRange extent = stack_extent(stack);
  const std::vector<Summary>& figures = summaries(panel, stack);
  const std::string& highlighted = panel.highlighted.empty() ? panel.pinned : panel.highlighted;
  const bool by_difference = panel.color_by_difference && panel.figures == Figures::differences &&
                             difference_of(panel, stack) != nullptr;
  canvas.draw.PushClipRect(area.min, area.max, true);

  for (const PlacedLane& placed : layout.lanes) {
    const float y = canvas.top + placed.y;
    if (y + placed.height < area.min.y || y > area.max.y) continue;
    canvas.draw.AddRectFilled({axis.left, y + 1}, {axis.right, y + placed.height - 1},
                              to_u32(theme::kLane));
  }
  if (!panel.own_axis) paint_grid(canvas);
  for (const PlacedLane& placed : layout.lanes) {
    const float y = canvas.top + placed.y;
    if (y + placed.height < area.min.y || y > area.max.y) continue;
    const Timeline& timeline = *stack[placed.stack].timeline;
    const Lane& lane = timeline.lanes[placed.lane];
    paint_gutter(canvas, panel.ranks, lane, placed, y);
    const auto lit = panel.lit.find(timeline.info.id);
    const bool is_compared = by_difference && is_one_of(compared_pair(panel, stack), placed.stack);
    const MarkLook look{styles_of(panel, timeline),
                        is_compared ? &difference_colors(panel, stack, placed.stack) : nullptr,
                        lit == panel.lit.end() ? nullptr : &lit->second, highlighted};
    paint_marks(canvas, lane, look, axis_map(timeline, panel.own_axis, extent), y, placed.height);
  }
  paint_bands(canvas, panel, stack, layout);
  paint_memory(canvas, panel, stack, layout);
  for (const PlacedHeader& header : layout.headers) {
    const Timeline& timeline = *stack[header.stack].timeline;
    paint_header(canvas, stack[header.stack], figures[header.stack], header,
                 axis_map(timeline, panel.own_axis, extent), panel);
  }
  if (panel.figures == Figures::path) paint_path(canvas, panel, stack, layout);
  paint_selection(canvas, panel, stack, layout);
  paint_asked(canvas, panel, stack, layout);
  paint_range(canvas.draw, panel, axis, area);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (area.contains(mouse) && mouse.x >= axis.left) {
    draw_line(canvas.draw, {mouse.x, area.min.y}, {mouse.x, area.max.y},
              to_u32(theme::kText, 0.25F));
  }
  canvas.draw.PopClipRect();
}

void paint_ruler(const TimelinePanel& panel, const Fonts& fonts, const AxisPixels& axis,
                 Rect area) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float em = fonts.small->FontSize;
  draw.PushClipRect(area.min, {area.max.x + em * 4, area.max.y}, true);
  draw.AddRectFilled(area.min, area.max, to_u32(theme::kPanel));
  const float y = area.min.y + area.height() * 0.45F;
  if (panel.own_axis) {
    draw_text(draw, *fonts.small, axis.left, y, 0, theme::kMuted,
              "every timeline at its own scale: shapes compare, lengths do not");
  } else {
    paint_ticks(draw, fonts, axis, area, y);
  }
  draw_line(draw, {axis.left, area.max.y - 1}, {axis.right, area.max.y - 1}, to_u32(theme::kLine));
  paint_range(draw, panel, axis, {{axis.left, area.max.y - em * 0.6F}, area.max});
  if (panel.range) {
    const float middle = axis.to_px((panel.range->begin_s + panel.range->end_s) / 2);
    const std::string text = duration_text(panel.range->length_s());
    const float half = text_width(*fonts.bold, text) / 2 + 6;
    draw.AddRectFilled({middle - half, area.min.y + 2}, {middle + half, area.max.y - em * 0.6F},
                       to_u32(theme::kHeader), 3);
    draw_text(draw, *fonts.bold, middle, y, 0.5F, theme::kAccent, text);
  }
  draw.PopClipRect();
}

}  // namespace viewer
