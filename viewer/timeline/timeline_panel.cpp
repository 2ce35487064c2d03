#include "viewer/timeline/timeline_panel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>
#include <utility>

#include "viewer/model/timeline.h"
#include "viewer/timeline/input.h"
#include "viewer/timeline/memory_strip.h"
#include "viewer/timeline/paint.h"
#include "viewer/timeline/rank_view.h"

namespace viewer {

namespace {

constexpr float kGutter_em = 10.5F;
constexpr float kRuler_em = 2.0F;
constexpr double kStep_s = 0.01;  // of a frame, for an index

// The span (and how many share its mark) under the mouse.
void find_hovered(TimelinePanel& panel, std::span<const StackEntry> stack,
                  const StackLayout& layout, const AxisPixels& axis, float lanes_top) {
  panel.hovered.reset();
  panel.hovered_count = 0;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const PlacedLane* placed = layout.lane_at(mouse.y - lanes_top);
  if (placed == nullptr || mouse.x < axis.left) return;
  const Timeline& timeline = *stack[placed->stack].timeline;
  const AxisMap map = axis_map(timeline, panel.own_axis, stack_extent(stack));
  const Lane& lane = timeline.lanes[placed->lane];
  const double px_s = axis.seconds_per_px() / map.scale;
  const double at_s = map.to_time(axis.to_axis(mouse.x));
  for (const Mark& mark : fold(lane, {at_s - 2 * px_s, at_s + 2 * px_s}, px_s)) {
    const bool closer = mark.begin_s - 1.5 * px_s <= at_s &&
                        at_s <= std::max(mark.end_s, mark.begin_s + px_s) + px_s;
    if (!closer) continue;
    const std::optional<std::size_t> span = span_at(lane, at_s, 3 * px_s);
    if (!span) continue;
    panel.hovered = StackPosition{placed->stack, {placed->lane, *span}};
    panel.hovered_count = mark.count;
    if (mark.begin_s <= at_s && at_s <= mark.end_s) return;
  }
}

// The moment of a strip of memory under the mouse.
void find_hovered_moment(TimelinePanel& panel, std::span<const StackEntry> stack,
                         const StackLayout& layout, const AxisPixels& axis, float lanes_top) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const PlacedStrip* strip = layout.strip_at(mouse.y - lanes_top);
  if (strip == nullptr || mouse.x < axis.left || mouse.x > axis.right) return;
  const AxisMap map = axis_map(*stack[strip->stack].timeline, panel.own_axis, stack_extent(stack));
  panel.memory.hovered = StackMoment{strip->stack, map.to_time(axis.to_axis(mouse.x))};
}

void scroll_to_selected(const TimelinePanel& panel, const StackLayout& layout, Rect lanes) {
  if (!panel.selected) return;
  for (const PlacedLane& placed : layout.lanes) {
    if (placed.stack != panel.selected->stack || placed.lane != panel.selected->at.lane) continue;
    const float top = ImGui::GetScrollY();
    const bool visible = placed.y >= top && placed.y + placed.height <= top + lanes.height();
    if (!visible) ImGui::SetScrollY(std::max(0.0F, placed.y - lanes.height() / 2));
  }
}

void react(TimelinePanel& panel, std::span<const StackEntry> stack, const StackLayout& layout,
           AxisPixels& axis, Rect lanes) {
  ImGui::SetCursorScreenPos({lanes.min.x, lanes.min.y - ImGui::GetScrollY()});
  const ImVec2 size{lanes.width(), std::max(layout.height, lanes.height())};
  ImGui::InvisibleButton("lanes", size,
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonMiddle);
  const bool hovered = ImGui::IsItemHovered();
  const bool active = ImGui::IsItemActive();
  panel.ranks.hovered_rank.reset();
  panel.ranks.hovered_node.reset();
  panel.memory.hovered.reset();
  if (hovered) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const float top = lanes.min.y - ImGui::GetScrollY();
    find_hovered(panel, stack, layout, axis, top);
    find_hovered_rank(panel, stack, layout, mouse.y - top, mouse.x < axis.left);
    find_hovered_moment(panel, stack, layout, axis, top);
  } else {
    panel.hovered.reset();
    panel.hovered_count = 0;
  }
  if (std::exchange(panel.scroll_to_selected, false)) scroll_to_selected(panel, layout, lanes);
  const float scroll_px = handle_mouse(panel, stack, axis, hovered, active);
  if (scroll_px != 0) {
    ImGui::SetScrollY(std::clamp(ImGui::GetScrollY() + scroll_px, 0.0F, ImGui::GetScrollMaxY()));
  }
  handle_keys(panel, stack, axis);
  axis.view = panel.view;
}

}  // namespace

std::vector<std::pair<std::int64_t, std::size_t>> loaded_spans(std::span<const StackEntry> stack) {
  std::vector<std::pair<std::int64_t, std::size_t>> timelines;
  for (const StackEntry& entry : stack) {
    timelines.emplace_back(entry.timeline->info.id, entry.timeline->spans);
  }
  return timelines;
}

namespace {

// The selected op in another timeline, or, of its own, with all its chunks.
std::optional<WholeOp> selected_in(TimelinePanel& panel, const Timeline& own,
                                   const Timeline& other) {
  const StackPosition selected = *panel.selected;
  return panel.memo.answer(Question::counterpart, other.info.id,
                           std::tuple(selected.stack, selected.at, own.spans, other.spans),
                           [&]() -> std::optional<WholeOp> {
                             if (&own == &other) return whole_op(own, selected.at);
                             return counterpart(own, selected.at, other);
                           });
}

}  // namespace

std::optional<WholeOp> counterpart_of_selected(TimelinePanel& panel,
                                               std::span<const StackEntry> stack, std::size_t in) {
  if (!panel.selected) return std::nullopt;
  return selected_in(panel, *stack[panel.selected->stack].timeline, *stack[in].timeline);
}

std::optional<WholeOp> beside_selected(TimelinePanel& panel, std::span<const StackEntry> stack) {
  if (!panel.selected) return std::nullopt;
  const StackEntry& own = stack[panel.selected->stack];
  if (own.beside == nullptr) return std::nullopt;
  return selected_in(panel, *own.timeline, *own.beside);
}

const char* figures_title(Figures figures) {
  switch (figures) {
    case Figures::ranks:
      return "Ranks";
    case Figures::ops:
      return "Ops";
    case Figures::collectives:
      return "Collectives";
    case Figures::path:
      return "Critical path";
    case Figures::memory:
      return "Memory";
    case Figures::differences:
      return "Differences";
  }
  return "";
}

const char* figures_name(Figures figures) {
  switch (figures) {
    case Figures::ranks:
      return "ranks";
    case Figures::ops:
      return "ops";
    case Figures::collectives:
      return "collectives";
    case Figures::path:
      return "path";
    case Figures::memory:
      return "memory";
    case Figures::differences:
      return "differences";
  }
  return "";
}

namespace {

struct Indexing {
  SpanIndexBuilder builder;
  std::optional<SpanIndex> index;
};

Indexing& indexing_of(TimelinePanel& panel, const Timeline& timeline) {
  return panel.memo.answer(Question::index, timeline.info.id, timeline.spans,
                           [] { return Indexing(); });
}

}  // namespace

bool is_indexed(TimelinePanel& panel, const Timeline& timeline) {
  using Clock = std::chrono::steady_clock;
  if (!timeline.complete) return false;
  Indexing& indexing = indexing_of(panel, timeline);
  if (indexing.index) return true;
  const Clock::time_point begin = Clock::now();
  const auto is_over = [&] {
    return !panel.at_once && std::chrono::duration<double>(Clock::now() - begin).count() > kStep_s;
  };
  if (panel.is_index_stopped) return false;  // several tables may ask in one frame
  if (!indexing.builder.go_on(timeline, is_over)) {
    panel.is_index_stopped = panel.is_due = true;
    return false;
  }
  indexing.index = indexing.builder.take();
  return true;
}

const SpanIndex& index_of(TimelinePanel& panel, const Timeline& timeline) {
  Indexing& indexing = indexing_of(panel, timeline);
  if (!indexing.index) indexing.index = index_spans(timeline);
  return *indexing.index;
}

const std::vector<PathStep>& path_of(TimelinePanel& panel, const Timeline& timeline) {
  static const std::vector<PathStep> none;
  if (!is_indexed(panel, timeline)) return none;
  return panel.memo.answer(Question::path, timeline.info.id, timeline.spans,
                           [&] { return critical_path(timeline, index_of(panel, timeline)); });
}

const AboutSpan& about_selected(TimelinePanel& panel, std::span<const StackEntry> stack) {
  static const AboutSpan nothing;
  if (!panel.selected) return nothing;
  const Timeline& timeline = *stack[panel.selected->stack].timeline;
  if (!is_indexed(panel, timeline)) return nothing;
  const SpanPosition at = panel.selected->at;
  return panel.memo.answer(
      Question::selected, timeline.info.id, std::pair(at, timeline.spans), [&]() -> AboutSpan {
        const SpanIndex& index = index_of(panel, timeline);
        return {collective_at(timeline, index, at), causes_of(timeline, index, at)};
      });
}

TimeRange marked_range(const TimelinePanel& panel, std::span<const StackEntry> stack,
                       std::size_t in) {
  const Timeline& timeline = *stack[in].timeline;
  if (!panel.range) return timeline.extent;
  const AxisMap map = axis_map(timeline, panel.own_axis, stack_extent(stack));
  return common(map.to_time(*panel.range), timeline.extent);
}

bool shows_memory(const TimelinePanel& panel) {
  return panel.memory.pinned || panel.figures == Figures::memory;
}

const RankMemory* shown_memory(const TimelinePanel& panel, const StackEntry& entry) {
  if (entry.memory == nullptr) return nullptr;
  const RankMemory* chosen =
      panel.memory.rank ? memory_of(*entry.memory, *panel.memory.rank) : nullptr;
  return chosen != nullptr ? chosen : fullest_rank(*entry.memory);
}

std::array<std::size_t, 2> compared_pair(const TimelinePanel& panel,
                                         std::span<const StackEntry> stack) {
  const auto [first, second] = panel.compared;
  const bool are_there = first < stack.size() && second < stack.size() && first != second;
  return are_there ? panel.compared : std::array<std::size_t, 2>{0, 1};
}

const Differences* difference_of(TimelinePanel& panel, std::span<const StackEntry> stack) {
  if (stack.size() < 2) return nullptr;
  const auto [first, second] = compared_pair(panel, stack);
  const Timeline &before = *stack[first].timeline, &after = *stack[second].timeline;
  if (!before.complete || !after.complete) return nullptr;
  return &panel.memo.answer(Question::difference, 0, std::pair(before.info.id, after.info.id),
                            [&] { return differences(before, after); });
}

const std::vector<OpStyle>& styles_of(TimelinePanel& panel, const Timeline& timeline) {
  return panel.memo.answer(Question::styles, timeline.info.id, timeline.ops.size(), [&] {
    std::vector<OpStyle> styles;
    for (const db::TimelineOp& op : timeline.ops) {
      const Color fill = op_color(op);
      styles.push_back({fill, text_on(fill), op_labels(op), legend_kind(op)});
    }
    return styles;
  });
}

void draw_timelines(TimelinePanel& panel, const Fonts& fonts, std::span<const StackEntry> stack,
                    Rect area) {
  const float em = fonts.text->FontSize;
  const TimeRange extent = stack_extent(stack);
  if (panel.fit) panel.view = padded(extent, 0.01);
  panel.fit = false;
  panel.is_all_shown = panel.view == padded(extent, 0.01);

  const float scrollbar = ImGui::GetStyle().ScrollbarSize;
  AxisPixels axis{area.min.x + kGutter_em * em, area.max.x - scrollbar, panel.view};
  const Rect ruler{area.min, {area.max.x - scrollbar, area.min.y + kRuler_em * em}};
  const Rect lanes{{area.min.x, ruler.max.y}, area.max};

  LayoutSizes sizes;
  sizes.header = em * (panel.own_axis ? 3.2F : 1.9F);
  sizes.rank_gap = em * 0.3F;
  sizes.shortest_lane = em * 1.1F;
  sizes.tallest_lane = em * 4.0F;
  sizes.shortest_minor = fonts.small->FontSize + 1;
  sizes.band = em * 1.8F;
  sizes.strip = em * 5;
  const StackLayout layout = lay_out(stack, lanes.height() - em * 0.5F, sizes);

  // Under the mouse and the ruler: the lanes scroll, the ruler does not.
  ImGui::SetCursorScreenPos(lanes.min);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleColor(ImGuiCol_ChildBg, to_u32(theme::kBackground));
  ImGui::BeginChild("timelines", {lanes.width(), lanes.height()}, false,
                    ImGuiWindowFlags_NoScrollWithMouse);
  react(panel, stack, layout, axis, lanes);
  const auto scrolled = static_cast<double>(ImGui::GetScrollY());
  update_bands(panel, stack, layout, axis,
               {scrolled, scrolled + static_cast<double>(lanes.height())});
  paint_lanes(panel, fonts, stack, layout, axis, {lanes.min, {axis.right, lanes.max.y}});
  ImGui::EndChild();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  paint_ruler(panel, fonts, axis, ruler);
  draw_tooltip(panel, fonts, stack);
  draw_band_tooltip(panel, fonts, stack);
  draw_memory_tooltip(panel, fonts, stack);
}

}  // namespace viewer
