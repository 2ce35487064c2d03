#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "viewer/app/app.h"
#include "viewer/model/last_views.h"

/// The databases that are open in a window, each with a tab. Uses ImGui, not GLFW.
namespace viewer {

/// One tab.
struct OpenDatabase {
  /// Throws db::Error.
  OpenDatabase(const std::string& path, const Start& start);

  db::Connection connection;
  App app;                            ///< borrows the connection
  std::optional<LastView> kept = {};  ///< what was last written down of it
};

/// What a database is opened with; without any of it, what was shown of it last is shown again.
struct Opening {
  Start start = {};
  std::string panel = {};  ///< empty for the first
  std::string table = {};  ///< empty for the first
  std::string ranks = {};
  std::string rank_order = {};
  bool is_asked = false;  ///< whether a person asked for any of these
};

struct Workspace {
  std::filesystem::path memory;  ///< where views are kept; empty for nowhere
  LastViews last = {};           ///< what was kept when the window was opened, and since
  std::vector<std::unique_ptr<OpenDatabase>> open = {};
  std::size_t active = 0;
  float zoom = 1;
  double until_kept_s = 0;      ///< time left until views are written down again
  std::string path_typed = {};  ///< in the field of the list of files
  std::string problem = {};     ///< why a file could not be opened
};

/// Reads what was shown last.
Workspace make_workspace(std::filesystem::path memory);

/// Opens a database in a tab of its own and shows it; one that is open already is shown. Throws
/// db::Error, UnknownView among them.
void open_database(Workspace& workspace, const std::string& path, const Opening& opening);

/// The same for a file that was dropped or picked: where it cannot be opened, `problem` says why.
void open_picked(Workspace& workspace, const std::string& path);

/// Closes the tab that is shown, after writing down what it showed.
void close_active(Workspace& workspace);

/// What a tab shows.
LastView view_of(App& app);

/// Writes down what all tabs show, where that has changed.
void keep_views(Workspace& workspace);

/// Draws one frame over the whole display and reacts to input.
void draw_workspace(Workspace& workspace, const Fonts& fonts);

/// The tab that is shown; null where no database is open.
App* shown_app(Workspace& workspace);

}  // namespace viewer
