#pragma once

#include <span>
#include <string_view>

#include "viewer/model/session.h"
#include "viewer/panels/panel_states.h"
#include "viewer/window/plot.h"

namespace viewer {

/// The data that a panel draws from.
struct PanelContext {
  Session& session;  ///< the loaded data and the selection, which a click may change
  const Fonts& fonts;
  PanelStates& states;               ///< the states that panels keep from frame to frame
  const char* next_panel = nullptr;  ///< name of the panel to show from the next frame on
};

/// A key and what it does, for the list of keys.
struct KeyHelp {
  const char* keys;
  const char* what;
};

/// The list at the left of a panel.
enum class SideList { none, runs, runs_and_timelines };

/// One view of the database, with a tab of its own.
struct Panel {
  const char* name;   ///< the name that --panel takes: "loads"
  const char* title;  ///< the text of the tab: "Loads"
  SideList side_list;
  std::span<const KeyHelp> keys;
  void (*draw)(PanelContext& context, Rect area);
  /// Whether the next frame is due without an event. May be null.
  bool (*is_moving)(PanelStates& states);
};

// clang-format off
/// Every panel, in the order of the tabs. A new one is panels/NAME.cpp with `Panel NAME_panel()`,
/// its test, and its line here.
#define VIEWER_PANELS(panel) \
  panel(timeline)            \
  panel(loads)               \
  panel(runs)                \
  panel(trials)              \
  panel(setups)              \
  panel(fits)                \
  /* a new one goes above */
// clang-format on

#define VIEWER_DECLARE_PANEL(name) Panel name##_panel();
VIEWER_PANELS(VIEWER_DECLARE_PANEL)
#undef VIEWER_DECLARE_PANEL

/// The panels of the list above.
std::span<const Panel> all_panels();

/// The panel of that name, or null.
const Panel* find_panel(std::string_view name);

}  // namespace viewer
