#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/panels/loads.h"
#include "viewer/timeline/timeline_panel.h"
#include "viewer/window/run_list.h"

/// The window's content: which panel is shown, what is loaded, where everything goes. Knows ImGui,
/// not GLFW.
namespace viewer {

enum class View { timeline, loads, runs };

std::optional<View> view_from_name(std::string_view name);

/// Everything that is loaded and picked. Borrows the connection.
struct App {
  const db::Connection& connection;
  Fonts fonts;
  View view = View::timeline;
  bool help = false;
  std::string problem;  ///< why something could not be loaded, shown in the bar

  Catalog catalog;
  RunData run;
  std::map<std::int64_t, Timeline> timelines;  ///< the stacked ones, by id
  RunPanel runs;
  TimelinePanel timeline;
  LoadPanel loads;
};

/// What to begin with, from the command line.
struct Start {
  std::optional<std::int64_t> run;
  std::vector<std::int64_t> timelines;  ///< to stack; empty for the run's default
  View view = View::timeline;
};

/// Loads the catalog and what `start` asks for. Throws db::Error (not_found) for an id that is not
/// there.
App open_app(const db::Connection& connection, const Start& start);

/// Draws one frame over the whole display and reacts to input.
void draw_app(App& app);

/// Whether something moves by itself, so that the next frame is due without an event.
bool is_animating(const App& app);

void select_run(App& app, std::int64_t run_id);
void select_trial(App& app, std::int64_t trial_id);

/// Loads the timelines that runs.stacked names and forgets the others.
void load_stack(App& app);

/// Reads the catalog and the picked run again.
void reload(App& app);

}  // namespace viewer
