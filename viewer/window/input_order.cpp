#include "viewer/window/input_order.h"

#include <utility>

namespace viewer {

void InputOrder::on_button(bool down) {
  if (down) {
    is_pressed_ = true;
  } else {
    frames_left_ = is_pressed_ ? 2 : 1;  // one frame sees the button down, the next sees it up
  }
}

bool InputOrder::passes(const KeyEvent& event) {
  if (frames_left_ == 0) return true;
  kept_.push_back(event);
  return false;
}

std::vector<KeyEvent> InputOrder::end_frame() {
  is_pressed_ = false;
  if (frames_left_ > 0) --frames_left_;
  if (frames_left_ > 0) return {};
  return std::exchange(kept_, {});
}

}  // namespace viewer
