#include "viewer/window/key_taps.h"

#include <utility>

namespace viewer {

bool KeyTaps::passes(int key, bool down) {
  if (down) {
    any_pressed_ = true;
    std::erase(kept_, key);  // it is down again
    return true;
  }
  if (!any_pressed_) return true;
  kept_.push_back(key);
  return false;
}

std::vector<int> KeyTaps::end_frame() {
  any_pressed_ = false;
  return std::exchange(kept_, {});
}

}  // namespace viewer
