#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "viewer/model/session.h"
#include "viewer/window/window.h"

/// The pictures of a report: what the panels draw, without the list and the tabs around them.
namespace viewer {

struct Picture {
  std::string file;     ///< "timeline.png"
  std::string caption;  ///< what it shows and how to read it
  int width = 0, height = 0;
  std::string png;  ///< the bytes of the file
};

/// A picture of every panel, in the order of the tabs, of what the session has selected; of searches
/// only where the database has any; after that
/// of the timelines one with their memory, where it is known. Throws DisplayError.
std::vector<Picture> draw_panels(Session& session, Window& window);

/// A picture of each group (setup_groups) of what a run of kind search found. Throws DisplayError.
std::vector<Picture> draw_setups(Session& session, Window& window, std::int64_t run);

}  // namespace viewer
