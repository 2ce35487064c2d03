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

/// W/S, A/D, F, Home, period and comma, Escape. Nothing while a text field has the keyboard.
void handle_keys(TimelinePanel& panel, std::span<const StackEntry> stack, const AxisPixels& axis);

/// Wheel, drag, click and double click on the lanes. `hovered` and `active` tell about the item
/// that covers the lanes. Returns how far the lanes shall scroll down, in pixels.
float handle_mouse(TimelinePanel& panel, std::span<const StackEntry> stack, const AxisPixels& axis,
                   bool hovered, bool active);

/// Shows the span with a margin around it.
void zoom_to(TimelinePanel& panel, std::span<const StackEntry> stack, StackPosition position);

/// True while a key that moves the view is held: the next frame must not wait for an event.
bool is_view_key_held();

}  // namespace viewer
