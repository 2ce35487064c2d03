#include "viewer/window/key_taps.h"

#include <algorithm>
#include <utility>

namespace viewer {

bool KeyTaps::passes(int key, bool down) {
  if (down) {
    pressed_.push_back(key);
    std::erase(kept_, key);  // it is down again
    return true;
  }
  if (std::find(pressed_.begin(), pressed_.end(), key) == pressed_.end()) return true;
  kept_.push_back(key);
  return false;
}

std::vector<int> KeyTaps::end_frame() {
  pressed_.clear();
  return std::exchange(kept_, {});
}

}  // namespace viewer
