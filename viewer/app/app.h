#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/error.h"
#include "viewer/model/database_watch.h"
#include "viewer/model/session.h"
#include "viewer/panels/panels.h"
#include "viewer/window/table_copy.h"
#include "viewer/window/theme.h"

/// The content of the window: tabs, the list at the left, one panel. Uses ImGui, not GLFW.
namespace viewer {

struct App {
  Session session;
  Fonts fonts = {};
  const Panel* panel = &all_panels().front();  ///< shown now
  bool help = false;
  bool wants_files = false;                 ///< the list of files shall be opened
  float top_px = 0;                         ///< where it begins: below the tabs of files
  bool wants_picture = false;               ///< P was pressed: the next frame shall be saved
  float list_em = 24;                       ///< the width of the list at the left
  float zoom = 1;                           ///< of text and spacing, by Ctrl + and -
  std::optional<DatabaseWatch> watch = {};  ///< of a window that follows the database
  double until_look_s = 0;                  ///< time left until the next look at it
  std::string notice = {};                  ///< what was just done, beside the name of the run
  TableCopy table_copy = {};
  PanelStates states = {};
};

/// Draws one frame over the whole display and reacts to input.
void draw_app(App& app);

/// Whether the panel moves by itself, so that the next frame is due without an event.
bool is_moving(App& app);

/// The names of the tables below the timelines: "ranks", "ops", ...
std::vector<std::string> figures_names();

/// A panel, a table or an order of ranks that does not exist, or a text that is no list of ranks.
class UnknownView : public db::Error {
 public:
  explicit UnknownView(const std::string& message) : db::Error(db::ErrorKind::invalid, message) {}
};

/// Shows the table of that name below the timelines. Throws UnknownView.
void show_figures(App& app, std::string_view name);

/// Shows these ranks, in that order, in the timelines (see RankChoice); an empty order leaves it.
/// Throws UnknownView.
void show_ranks(App& app, const std::string& ranks, std::string_view order);

/// Shows the panel of that name. Throws UnknownView.
void show_panel(App& app, std::string_view name);

}  // namespace viewer
