#pragma once

#include <string>

/// The list of runs and of the timelines that can be stacked, at the left of panels that ask for it.
namespace viewer {

struct App;

/// What is looked for in lists of runs; kept among the panels' states.
struct RunFilter {
  std::string words;
};

/// Filter, one line per run, and below it the timelines if they are wanted; fills the current window.
/// A click selects a run, a tick stacks a timeline.
void draw_run_list(App& app, bool with_timelines);

/// The field for the words that runs are filtered by.
void draw_filter(RunFilter& filter);

/// A run's or trial's status as a dot.
void draw_status_dot(const std::string& status);

}  // namespace viewer
