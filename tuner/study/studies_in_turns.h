#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/study/study.h"

namespace tuner {

/// Runs studies of one model in several layouts as one: they are profiled and predicted, then the
/// rounds of their trials take turns, a round of each study, and so do refinements. Rounds beside
/// each other have the same number, so that trials of all studies can be compared (compared_trials.h).
///
/// With StudyOptions::profile of kProfileOne one layout is profiled in whole, and briefly each other
/// that has kinds of ops, or far larger ones, which no profiled one has (profiled_layouts.h). Costs of all these runs
/// predict all layouts. Each study says which they are, and what of its prediction is beyond them.
/// Its row has their ids (own_profile_runs). Where the layout that was to be profiled fails, the next
/// takes its place.
///
/// A study that fails is told by its `failure`, and the others go on; with one budget all end. Returns
/// how each ended, in their order. A dry run plans each.
///
/// Throws moe::InputError, before anything is trained, where one exists and is not to be resumed; the
/// first error where all failed; and as run_study where a signal asks for the end or the database can
/// no longer be written.
/// `say`: prints a line that concerns all of them, such as how long the rounds that are left take.
std::vector<StudyEnd> run_in_turns(
    const std::vector<StudyOptions>& studies,
    const std::function<void(const std::string&)>& say = [](const std::string&) {});

/// Throws moe::InputError where a study of one of these names exists and is not to be resumed.
void expect_new(const std::vector<StudyOptions>& studies);

/// Whether studies after it would end the same way.
bool concerns_all(const std::exception& error);

}  // namespace tuner
