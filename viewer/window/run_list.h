#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/catalog.h"
#include "viewer/window/theme.h"

/// The list of runs, narrow beside the picture or wide with every column, and the trials of
/// studies.
namespace viewer {

struct RunPanel {
  std::string filter;
  std::int64_t selected = 0;          ///< run id, 0 for none
  std::vector<std::int64_t> stacked;  ///< timeline ids, topmost first
};

/// What a person picked in this frame.
struct RunPick {
  std::optional<std::int64_t> run;
  std::optional<std::int64_t> trial;
  bool stack_changed = false;
};

/// Filter, one line per run, and below it the timelines that can be stacked; fills the current
/// window.
RunPick draw_run_list(RunPanel& panel, const Fonts& fonts, const Catalog& catalog);

/// Every column of runs and, below, of trials, sortable by run columns; fills the current window.
RunPick draw_run_tables(RunPanel& panel, const Fonts& fonts, const Catalog& catalog);

/// Parts that both lists use.
void draw_filter(RunPanel& panel);
void draw_status_dot(const std::string& status);

}  // namespace viewer
