#include "viewer/timeline/annotations.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "viewer/model/timeline.h"

namespace viewer {

namespace {

constexpr float kHatch_px = 6;  // at 96 dpi

struct Point {
  float x = 0;
  float y = 0;
};

// The place of a moment of a span on the screen: the middle of its lane.
std::optional<Point> place_of(const Canvas& canvas, const AxisMap& map, const StackLayout& layout,
                              StackPosition at, double time_s) {
  const PlacedLane* placed = find_placed(layout, at.stack, at.at.lane);
  if (placed == nullptr) return std::nullopt;
  return Point{canvas.axis.to_px(map.to_axis(time_s)), canvas.top + placed->y + placed->height / 2};
}

bool is_in_view(const Canvas& canvas, Point from, Point to) {
  return std::max(from.x, to.x) >= canvas.axis.left && std::min(from.x, to.x) <= canvas.axis.right;
}

void draw_arrow(const Canvas& canvas, Point from, Point to, Color color, float thickness) {
  if (!is_in_view(canvas, from, to)) return;
  const float reach = std::clamp(std::abs(to.x - from.x) / 2, 12.0F, 60.0F);
  const ImU32 paint = to_u32(color);
  canvas.draw.AddBezierCubic({from.x, from.y}, {from.x + reach, from.y}, {to.x - reach, to.y},
                             {to.x, to.y}, paint, line_px(thickness));
  const float head = scaled_px(4 + thickness);
  canvas.draw.AddTriangleFilled({to.x, to.y}, {to.x - head, to.y - head * 0.6F},
                                {to.x - head, to.y + head * 0.6F}, paint);
}

void paint_partners(const Canvas& canvas, const TimelinePanel& panel, const AboutSpan& about,
                    const Timeline& timeline, const AxisMap& map, const StackLayout& layout) {
  if (!about.collective || about.collective->parts.size() < 2) return;
  const Collective& collective = *about.collective;
  const SpanPosition last = collective.parts[collective.last];
  bool waited = false;
  for (const SpanPosition at : collective.parts) {
    waited = waited || waiting_of(timeline, collective, at).length_s() > 0;
    const PlacedLane* placed = find_placed(layout, panel.selected->stack, at.lane);
    if (placed == nullptr || at == panel.selected->at) continue;
    const bool is_last = at == last;
    outline(canvas, span_at(timeline, at), map, *placed, is_last ? theme::kBad : theme::kWarning,
            is_last ? 3.0F : 2.0F);
  }
  if (!waited) return;
  const float x = canvas.axis.to_px(map.to_axis(span_at(timeline, last).start_s));
  if (x < canvas.axis.left || x > canvas.axis.right) return;
  float top = canvas.area.max.y, bottom = canvas.area.min.y;
  for (const SpanPosition at : collective.parts) {
    const PlacedLane* placed = find_placed(layout, panel.selected->stack, at.lane);
    if (placed == nullptr) continue;
    top = std::min(top, canvas.top + placed->y);
    bottom = std::max(bottom, canvas.top + placed->y + placed->height);
  }
  draw_line(canvas.draw, {x, top}, {x, bottom}, to_u32(theme::kBad), 1.5F);
}

void paint_causes(const Canvas& canvas, const TimelinePanel& panel, const AboutSpan& about,
                  const Timeline& timeline, const AxisMap& map, const StackLayout& layout) {
  const StackPosition own = *panel.selected;
  // The last to happen comes first in the list and is drawn over the others.
  for (std::size_t i = about.causes.size(); i-- > 0;) {
    const Cause& cause = about.causes[i];
    const double to_s =
        cause.reason == Reason::rendezvous ? cause.at_s : span_at(timeline, own.at).start_s;
    const auto from = place_of(canvas, map, layout, {own.stack, cause.at}, cause.at_s);
    const auto to = place_of(canvas, map, layout, own, to_s);
    if (!from || !to) continue;
    draw_arrow(canvas, *from, *to, i == 0 ? theme::kText : theme::kMuted, i == 0 ? 2.5F : 1.2F);
  }
}

std::vector<Color> colors_of(const Timeline& timeline, const Differences& differences) {
  double most_s = 0;
  std::map<std::string, double> of_op;
  for (const OpDifference& op : differences.ops) {
    of_op[op_key(op.op, OpGrouping::op)] = op.difference_s();
    most_s = std::max(most_s, std::abs(op.difference_s()));
  }
  constexpr Color kSame = rgb(0x5A616C), kLonger = rgb(0xF59E2C), kShorter = rgb(0x5B9BE6);
  std::vector<Color> colors;
  for (const db::TimelineOp& op : timeline.ops) {
    const auto of = of_op.find(op_key(op, OpGrouping::op));
    const double difference_s = of == of_op.end() ? 0 : of->second;
    const double strength = most_s > 0 ? std::sqrt(std::abs(difference_s) / most_s) : 0;
    colors.push_back(
        mix(kSame, difference_s > 0 ? kLonger : kShorter, static_cast<float>(strength)));
  }
  return colors;
}

}  // namespace

void paint_waiting(const Canvas& canvas, const LaneSpan& span, const AxisMap& map, float y,
                   float height) {
  const float x0 = std::max(canvas.axis.left, canvas.axis.to_px(map.to_axis(span.start_s)));
  const float x1 =
      std::min(canvas.axis.right, canvas.axis.to_px(map.to_axis(span.start_s + span.waiting_s)));
  if (x1 - x0 < 2) return;
  const float top = y + 1, bottom = y + height - 1, tall = bottom - top;
  canvas.draw.AddRectFilled({x0, top}, {x1, bottom}, to_u32(theme::kLane, 0.55F));
  const float pitch = scaled_px(kHatch_px);
  const float begin = std::floor((x0 - tall) / pitch) * pitch;
  for (float at = begin; at < x1; at += pitch) {
    const float left = std::max(at, x0), right = std::min(at + tall, x1);
    if (right <= left) continue;
    draw_line(canvas.draw, {left, bottom - (left - at)}, {right, bottom - (right - at)},
              to_u32(theme::kBackground, 0.75F), 1.5F);
  }
}

void paint_asked(const Canvas& canvas, TimelinePanel& panel, std::span<const StackEntry> stack,
                 const StackLayout& layout) {
  if (!panel.selected) return;
  const AboutSpan& about = about_selected(panel, stack);
  const Timeline& timeline = *stack[panel.selected->stack].timeline;
  const AxisMap map = axis_map(timeline, panel.own_axis, stack_extent(stack));
  // Arrows from what is left of the view do not cross the names of the lanes.
  canvas.draw.PushClipRect({canvas.axis.left, canvas.area.min.y},
                           {canvas.axis.right, canvas.area.max.y}, true);
  paint_partners(canvas, panel, about, timeline, map, layout);
  paint_causes(canvas, panel, about, timeline, map, layout);
  canvas.draw.PopClipRect();
}

void paint_path(const Canvas& canvas, TimelinePanel& panel, std::span<const StackEntry> stack,
                const StackLayout& layout) {
  const std::size_t in = std::min(panel.focus, stack.size() - 1);
  const Timeline& timeline = *stack[in].timeline;
  const AxisMap map = axis_map(timeline, panel.own_axis, stack_extent(stack));
  std::optional<Point> before;
  for (const PathStep& one : path_of(panel, timeline)) {
    const PlacedLane* placed = find_placed(layout, in, one.at.lane);
    if (placed == nullptr) continue;
    const double begin_s = span_at(timeline, one.at).start_s;
    const float y = canvas.top + placed->y + placed->height - line_px(2);
    const Point from{canvas.axis.to_px(map.to_axis(begin_s)), y};
    const Point to{canvas.axis.to_px(map.to_axis(begin_s + one.seconds)), y};
    if (before && is_in_view(canvas, *before, from)) {
      draw_line(canvas.draw, {std::max(before->x, canvas.axis.left), before->y},
                {std::max(from.x, canvas.axis.left), from.y}, to_u32(theme::kText, 0.55F), 1);
    }
    if (is_in_view(canvas, from, to)) {
      canvas.draw.AddRectFilled({std::max(from.x, canvas.axis.left), y - line_px()},
                                {std::max(to.x, from.x + 1), y + line_px(2)}, to_u32(theme::kText));
    }
    before = to;
  }
}

const std::vector<Color>& difference_colors(TimelinePanel& panel, std::span<const StackEntry> stack,
                                            std::size_t in) {
  const Timeline& timeline = *stack[in].timeline;
  const Differences* differences = difference_of(panel, stack);
  static const std::vector<Color> none;
  if (differences == nullptr) return none;
  const auto [first, second] = compared_pair(panel, stack);
  const std::pair compared(stack[first].timeline->info.id, stack[second].timeline->info.id);
  return panel.memo.answer(Question::difference_colors, timeline.info.id, compared,
                           [&] { return colors_of(timeline, *differences); });
}

}  // namespace viewer
