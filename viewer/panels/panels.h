#pragma once

#include <span>
#include <string_view>

#include "viewer/window/plot.h"

namespace viewer {

struct App;

/// A key and what it does, for the list of keys.
struct KeyHelp {
  const char* keys;
  const char* what;
};

/// What stands at the left of a panel, to pick from.
enum class SideList { none, runs, runs_and_timelines };

/// A way to look at the database, behind a tab of its own.
struct Panel {
  const char* name;   ///< of --panel: "loads"
  const char* title;  ///< of the tab: "Loads"
  SideList side_list;
  std::span<const KeyHelp> keys;
  void (*draw)(App& app, Rect area);
  bool (*is_moving)(App& app);  ///< whether the next frame is due without an event; may be null
};

// clang-format off
/// Every panel, in the order of the tabs. A new one is panels/NAME.cpp with `Panel NAME_panel()`, its
/// test, and its line here.
#define VIEWER_PANELS(panel) \
  panel(timeline)            \
  panel(loads)               \
  panel(runs)                \
  panel(fits)                \
  /* a new one goes above */
// clang-format on

#define VIEWER_DECLARE_PANEL(name) Panel name##_panel();
VIEWER_PANELS(VIEWER_DECLARE_PANEL)
#undef VIEWER_DECLARE_PANEL

/// Those of the list above.
std::span<const Panel> all_panels();

/// The panel of that name, or null.
const Panel* find_panel(std::string_view name);

}  // namespace viewer
