#pragma once

#include <span>

#include "viewer/timeline/timeline_panel.h"

/// How mouse and keyboard change the timelines.
namespace viewer {

/// The place of the time axis on the screen.
struct AxisPixels {
  float left = 0;
  float right = 0;
  TimeRange view;

  double seconds_per_px() const { return view.length_s() / (right - left); }
  float to_px(double axis_s) const {
    return left + static_cast<float>((axis_s - view.begin_s) / view.length_s() * (right - left));
  }
  double to_axis(float px) const { return view.begin_s + (px - left) * seconds_per_px(); }
};

/// W/S, A/D, F, M, Home, period and comma, n/N, brackets, slash, Escape. Nothing while a text field
/// has the keyboard.
void handle_keys(TimelinePanel& panel, std::span<const StackEntry> stack, const AxisPixels& axis);

/// Wheel, drag, click and double click on the lanes. `hovered` and `active` tell about the item
/// that covers the lanes. Returns how far the lanes shall scroll down, in pixels.
float handle_mouse(TimelinePanel& panel, std::span<const StackEntry> stack, const AxisPixels& axis,
                   bool hovered, bool active);

/// Shows the span with a margin around it.
void zoom_to(TimelinePanel& panel, std::span<const StackEntry> stack, StackPosition position);

/// Selects a span and brings it into view. A span too thin to be seen is zoomed to.
void show_span(TimelinePanel& panel, std::span<const StackEntry> stack, StackPosition position);

/// Shows the next (+1) or the one before (-1) of a walk, from its end again at its begin.
void step(TimelinePanel& panel, std::span<const StackEntry> stack, Walk& walk, int by);

/// Walks the critical path of the timeline that the tables are about. Takes up the path where the
/// selected span lies on it.
void step_path(TimelinePanel& panel, std::span<const StackEntry> stack, int by);

/// The ops that hold the words stand out in all timelines, and their spans are walked by start.
void search(TimelinePanel& panel, std::span<const StackEntry> stack);

/// How often this character was typed since the last frame; 0 while a text field has the keyboard.
int times_typed(char character);
bool is_typed(char character);

/// True while a key that moves the view is held: the next frame must not wait for an event.
bool is_view_key_held();

}  // namespace viewer
