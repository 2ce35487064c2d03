#pragma once

#include <vector>

namespace viewer {

/// A key, or a character that was typed, as GLFW reports it.
struct KeyEvent {
  int key = 0;
  int scancode = 0;
  int action = 0;
  int mods = 0;
  unsigned character = 0;  ///< 0 for a key

  bool operator==(const KeyEvent&) const = default;
};

/// Lets a frame see a click before the keys that came after it, however long frames take: ImGui
/// only sees the state at the begin of a frame.
class InputOrder {
 public:
  /// A button of the mouse went down or up.
  void on_button(bool down);
  /// Whether the event may be passed on now. After a click that no frame has seen whole it is kept.
  bool passes(const KeyEvent& event);
  /// The events that are due, in their order, after a frame was drawn.
  std::vector<KeyEvent> end_frame();

 private:
  bool is_pressed_ = false;  // since the last frame
  int frames_left_ = 0;      // until the release has been drawn
  std::vector<KeyEvent> kept_;
};

}  // namespace viewer
