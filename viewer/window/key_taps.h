#pragma once

#include <vector>

namespace viewer {

/// Lets a key that is pressed and released between two frames be down for one frame: ImGui only
/// sees the state at the begin of a frame.
class KeyTaps {
 public:
  /// Whether the event may be passed on now. The release of a key that was pressed in this frame is
  /// kept until its end.
  bool passes(int key, bool down);
  /// The keys whose releases are due, after a frame was drawn.
  std::vector<int> end_frame();

 private:
  std::vector<int> pressed_, kept_;
};

}  // namespace viewer
