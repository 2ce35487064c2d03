#include "viewer/timeline/input.h"

#include <algorithm>
#include <cmath>

#include "viewer/timeline/rank_view.h"

namespace viewer {

namespace {

constexpr int kHome = 268, kEscape = 256;  // GLFW's codes; headers of GLFW stay out of the panels
constexpr double kZoomPerSecond = 3.0;     // e-folds
constexpr double kPanPerSecond = 1.0;      // widths of the view
constexpr double kZoomPerWheelStep = 0.8;
constexpr float kScrollPerWheelStep_px = 60;
constexpr double kSlowestFrame_s = 0.05;  // after sleeping, the first frame must not leap

TimeRange axis_range(std::span<const StackEntry> stack, const TimelinePanel& panel,
                     StackPosition position) {
  const Timeline& timeline = *stack[position.stack].timeline;
  const LaneSpan& span = timeline.lanes[position.at.lane].spans[position.at.span];
  return axis_map(timeline, panel.own_axis, stack_extent(stack)).to_axis(span.interval());
}

// Brings the selected span into view without changing the scale.
void reveal(TimelinePanel& panel, std::span<const StackEntry> stack) {
  const TimeRange span = axis_range(stack, panel, *panel.selected);
  double shift_s = 0;
  if (span.end_s > panel.view.end_s) {
    shift_s = span.end_s - panel.view.end_s + 0.1 * panel.view.length_s();
  }
  if (span.begin_s < panel.view.begin_s + shift_s) {
    shift_s = span.begin_s - panel.view.begin_s - 0.1 * panel.view.length_s();
  }
  if (shift_s != 0) panel.view = pan(panel.view, shift_s, stack_extent(stack));
}

void step_selection(TimelinePanel& panel, std::span<const StackEntry> stack, int step) {
  if (!panel.selected) return;
  StackPosition& selected = *panel.selected;
  const std::size_t spans = stack[selected.stack].timeline->lanes[selected.at.lane].spans.size();
  if (step < 0 && selected.at.span == 0) return;
  if (step > 0 && selected.at.span + 1 >= spans) return;
  selected.at.span += step > 0 ? 1 : std::size_t(-1);
  reveal(panel, stack);
}

// n, N and the characters that other layouts of the keyboard have on other keys.
void handle_characters(TimelinePanel& panel, std::span<const StackEntry> stack) {
  if (is_typed('/')) {
    panel.figures = Figures::ops;
    panel.search.focus = true;
  }
  // Quick taps may be several in one frame.
  for (int i = times_typed('n'); i > 0; --i) step(panel, stack, panel.walk, 1);
  for (int i = times_typed('N'); i > 0; --i) step(panel, stack, panel.walk, -1);
  for (int i = times_typed('['); i > 0; --i) step_path(panel, stack, -1);
  for (int i = times_typed(']'); i > 0; --i) step_path(panel, stack, 1);
}

// What a click on the lanes, or on the memory above them, is on.
void choose(TimelinePanel& panel) {
  if (panel.memory.hovered) {
    panel.memory.chosen = panel.memory.hovered;
    panel.focus = panel.memory.chosen->stack;
    panel.figures = Figures::memory;
    return;
  }
  panel.selected = panel.hovered;
  if (panel.selected) panel.focus = panel.selected->stack;
}

void mark_range(TimelinePanel& panel, const AxisPixels& axis, float mouse_x, bool active) {
  if (active && !panel.range_anchor_s) panel.range_anchor_s = axis.to_axis(mouse_x);
  if (!panel.range_anchor_s) return;
  const double here_s = axis.to_axis(std::clamp(mouse_x, axis.left, axis.right));
  panel.range =
      TimeRange{std::min(*panel.range_anchor_s, here_s), std::max(*panel.range_anchor_s, here_s)};
  if (active) return;
  panel.range_anchor_s.reset();
  // A click without a drag takes the mark away again.
  if (panel.range->length_s() < 3 * axis.seconds_per_px()) panel.range.reset();
}

}  // namespace

void zoom_to(TimelinePanel& panel, std::span<const StackEntry> stack, StackPosition position) {
  const TimeRange range = padded(axis_range(stack, panel, position), 0.25);
  panel.view = zoom(range, 1, (range.begin_s + range.end_s) / 2, stack_extent(stack));
}

void show_span(TimelinePanel& panel, std::span<const StackEntry> stack, StackPosition position) {
  constexpr double kLeastShare = 1.0 / 100;  // of the view, to be seen
  panel.selected = position;
  panel.focus = position.stack;
  panel.scroll_to_selected = true;
  show_rank(panel, stack, position);
  const TimeRange span = axis_range(stack, panel, position);
  if (span.length_s() < kLeastShare * panel.view.length_s()) {
    panel.view = zoom(padded(span, 4), 1, span.begin_s, stack_extent(stack));
  }
  reveal(panel, stack);
}

void step(TimelinePanel& panel, std::span<const StackEntry> stack, Walk& walk, int by) {
  if (walk.spans.empty()) return;
  const std::size_t count = walk.spans.size();
  if (!walk.at) {
    walk.at = by > 0 ? 0 : count - 1;
  } else {
    walk.at = (*walk.at + (by > 0 ? 1 : count - 1)) % count;
  }
  show_span(panel, stack, walk.spans[*walk.at]);
}

void step_path(TimelinePanel& panel, std::span<const StackEntry> stack, int by) {
  const std::size_t focus = std::min(panel.focus, stack.size() - 1);
  const std::vector<PathStep>& path = path_of(panel, *stack[focus].timeline);
  Walk& walk = panel.path_walk;
  walk = {"critical path", {}, std::nullopt};
  for (const PathStep& one : path) {
    const StackPosition position{focus, one.at};
    if (panel.selected == position) walk.at = walk.spans.size();
    walk.spans.push_back(position);
  }
  panel.figures = Figures::path;
  step(panel, stack, walk, by);
}

void search(TimelinePanel& panel, std::span<const StackEntry> stack) {
  panel.walk = {panel.search.text, {}, std::nullopt};
  panel.op_table.pinned.clear();
  panel.lit.clear();
  for (std::size_t s = 0; s < stack.size(); ++s) {
    const Timeline& timeline = *stack[s].timeline;
    if (!is_indexed(panel, timeline)) {
      panel.walks_again = panel.walks_again || timeline.complete;
      continue;
    }
    std::vector<bool> found = matching_ops(timeline, panel.search.text);
    for (const SpanPosition at :
         spans_of(timeline, index_of(panel, timeline), found, marked_range(panel, stack, s))) {
      panel.walk.spans.push_back({s, at});
    }
    if (!panel.search.text.empty()) panel.lit[timeline.info.id] = std::move(found);
  }
}

int times_typed(char character) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.WantTextInput) return 0;
  return static_cast<int>(std::count(io.InputQueueCharacters.begin(), io.InputQueueCharacters.end(),
                                     ImWchar(character)));
}

bool is_typed(char character) { return times_typed(character) > 0; }

bool is_view_key_held() {
  if (ImGui::GetIO().WantTextInput) return false;
  return ImGui::IsKeyDown('W') || ImGui::IsKeyDown('S') || ImGui::IsKeyDown('A') ||
         ImGui::IsKeyDown('D');
}

void handle_keys(TimelinePanel& panel, std::span<const StackEntry> stack, const AxisPixels& axis) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.WantTextInput || io.KeyCtrl || io.KeyAlt) return;
  const TimeRange extent = stack_extent(stack);
  const double frame_s = std::min(static_cast<double>(io.DeltaTime), kSlowestFrame_s);
  const bool mouse_inside = io.MousePos.x >= axis.left && io.MousePos.x <= axis.right;
  const double anchor_s =
      mouse_inside ? axis.to_axis(io.MousePos.x) : (panel.view.begin_s + panel.view.end_s) / 2;

  const double quicker = io.KeyShift ? 3 : 1;
  if (ImGui::IsKeyDown('W')) {
    panel.view = zoom(panel.view, std::exp(-kZoomPerSecond * quicker * frame_s), anchor_s, extent);
  }
  if (ImGui::IsKeyDown('S')) {
    panel.view = zoom(panel.view, std::exp(kZoomPerSecond * quicker * frame_s), anchor_s, extent);
  }
  const double step_s = kPanPerSecond * quicker * frame_s * panel.view.length_s();
  if (ImGui::IsKeyDown('A')) panel.view = pan(panel.view, -step_s, extent);
  if (ImGui::IsKeyDown('D')) panel.view = pan(panel.view, step_s, extent);

  if (ImGui::IsKeyPressed('F', false)) {
    if (panel.range) {
      panel.view = zoom(padded(*panel.range, 0.05), 1, panel.range->begin_s, extent);
    } else if (panel.selected) {
      zoom_to(panel, stack, *panel.selected);
    } else {
      panel.fit = true;
    }
  }
  if (ImGui::IsKeyPressed(kHome, false)) panel.fit = true;
  if (ImGui::IsKeyPressed('M', false)) panel.memory.pinned = !panel.memory.pinned;
  handle_characters(panel, stack);
  if (ImGui::IsKeyPressed('.', true)) step_selection(panel, stack, 1);
  if (ImGui::IsKeyPressed(',', true)) step_selection(panel, stack, -1);
  if (ImGui::IsKeyPressed(kEscape, false)) {
    panel.selected.reset();
    panel.range.reset();
    panel.pinned.clear();
    panel.op_table.pinned.clear();
    panel.search = {};
    panel.walk = {};
    panel.lit.clear();
    panel.memory.chosen.reset();
  }
}

float handle_mouse(TimelinePanel& panel, std::span<const StackEntry> stack, const AxisPixels& axis,
                   bool hovered, bool active) {
  const ImGuiIO& io = ImGui::GetIO();
  const TimeRange extent = stack_extent(stack);
  float scroll_px = 0;
  if (hovered) {
    if (io.MouseWheel != 0 && io.KeyCtrl) {
      panel.view = zoom(panel.view, std::pow(kZoomPerWheelStep, io.MouseWheel),
                        axis.to_axis(io.MousePos.x), extent);
    } else if (io.MouseWheel != 0 && io.KeyShift) {
      panel.view = pan(panel.view, -0.1 * io.MouseWheel * panel.view.length_s(), extent);
    } else {
      scroll_px -= io.MouseWheel * kScrollPerWheelStep_px;
    }
    if (io.MouseWheelH != 0) {
      panel.view = pan(panel.view, -0.1 * io.MouseWheelH * panel.view.length_s(), extent);
    }
  }

  const bool marking = panel.range_anchor_s.has_value() ||
                       (active && (io.KeyShift || ImGui::IsMouseDown(ImGuiMouseButton_Middle)));
  if (marking) {
    mark_range(panel, axis, io.MousePos.x, active);
  } else if (active && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    panel.view = pan(panel.view, -io.MouseDelta.x * axis.seconds_per_px(), extent);
    scroll_px -= io.MouseDelta.y;
  }

  if (hovered && !io.KeyShift && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
    if (panel.hovered) {
      zoom_to(panel, stack, *panel.hovered);
    } else if (!panel.ranks.hovered_rank && !panel.ranks.hovered_node) {
      panel.view = zoom(panel.view, 0.5, axis.to_axis(io.MousePos.x), extent);
    }
  } else if (hovered && !marking && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) {
    const float threshold = io.MouseDragThreshold;
    if (io.MouseDragMaxDistanceSqr[ImGuiMouseButton_Left] < threshold * threshold) {
      if (click_rank(panel, stack)) return scroll_px;
      choose(panel);
    }
  }
  return scroll_px;
}

}  // namespace viewer
