#pragma once

#include "viewer/model/session.h"
#include "viewer/panels/panels.h"
#include "viewer/window/panel_states.h"
#include "viewer/window/theme.h"

/// The window's content: which panel is shown and where everything goes. Knows ImGui, not GLFW.
namespace viewer {

struct App {
  Session session;
  Fonts fonts = {};
  const Panel* panel = &all_panels().front();  ///< the one that is shown
  bool help = false;
  PanelStates states = {};
};

/// Draws one frame over the whole display and reacts to input.
void draw_app(App& app);

/// Whether something moves by itself, so that the next frame is due without an event.
bool is_moving(App& app);

/// Shows the panel of that name, which must be there.
void show_panel(App& app, std::string_view name);

}  // namespace viewer
