#include "viewer/panels/panels.h"

#include <algorithm>
#include <array>

namespace viewer {

std::span<const Panel> all_panels() {
#define VIEWER_CALL_PANEL(name) name##_panel(),
  static const std::array panels = {VIEWER_PANELS(VIEWER_CALL_PANEL)};
#undef VIEWER_CALL_PANEL
  return panels;
}

const Panel* find_panel(std::string_view name) {
  const std::span<const Panel> panels = all_panels();
  const auto found = std::find_if(panels.begin(), panels.end(),
                                  [&](const Panel& panel) { return panel.name == name; });
  return found == panels.end() ? nullptr : &*found;
}

}  // namespace viewer
