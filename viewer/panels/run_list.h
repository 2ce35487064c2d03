#pragma once

#include <string>

#include "viewer/model/session.h"
#include "viewer/window/theme.h"

/// The list of runs and timelines at the left of panels that ask for it.
namespace viewer {

/// The words that every list of runs is filtered by. One of the panels' states.
struct RunFilter {
  std::string words;
};

/// Fills the current window with the filter, a line per run and, where wanted, the timelines.
/// A click selects a run, a tick stacks a timeline.
void draw_run_list(Session& session, const Fonts& fonts, RunFilter& filter, bool with_timelines);

/// Says that the database is empty, and which programs fill it.
void draw_no_runs();

/// The text field of the filter.
void draw_filter(RunFilter& filter);

/// A cell with the error of a trial's first prediction; the tooltip says what it is of.
void error_cell(const db::Trial& trial);

/// The bound of a trial, in the colour of warnings where an iteration broke it, and its speed-up. The
/// tooltip says what they rest on.
void bound_cell(const TrialRow& trial);
void speedup_cell(const TrialRow& trial);

/// A dot in the colour of a run's or trial's status.
void draw_status_dot(const std::string& status);

}  // namespace viewer
