#pragma once

#include <vector>

namespace viewer {

/// Lets a key that is pressed and released between two frames be down for one frame: ImGui only
/// sees the state at the begin of a frame.
class KeyTaps {
 public:
  /// Whether the event may be passed on now. A release after a press in the same frame is kept
  /// until its end: of the same key, or of the Ctrl that was held with it.
  bool passes(int key, bool down);
  /// The keys whose releases are due, after a frame was drawn.
  std::vector<int> end_frame();

 private:
  bool any_pressed_ = false;
  std::vector<int> kept_;
};

}  // namespace viewer
