#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/load.h"

/// Questions about the catalog: which timelines belong together, which run to show first.
namespace viewer {

const RunRow* find_run(const Catalog& catalog, std::int64_t run_id);
const TrialRow* find_trial(const Catalog& catalog, std::int64_t trial_id);

/// A layout without the degrees that divide nothing: "ep=2 esp=2" of "dp=1,ep=2,esp=2,tp=1".
std::string divided_text(const std::string& layout);

/// How the last loss of a trial that changes results lies to the sequential trial's: "+0.00121"; empty of
/// one that does not, or was not trained.
std::string loss_change_text(const db::TrialFigures& figures);

/// Puts the timelines into the order of a list: those of trials first, by trial as the catalog has
/// them, measured before predicted; then by run, latest first, and iteration.
void sort_timelines(Catalog& catalog);

/// The timelines of a run: its own, those of the trial that it is a repeat of, and for a study
/// those of its trials.
std::vector<const db::Timeline*> timelines_of(const Catalog& catalog, std::int64_t run_id);

/// What to stack when a run is picked: its last measured timeline above the predicted one; of a
/// study the sequential trial above the fastest, measured where they are.
std::vector<std::int64_t> default_stack(const Catalog& catalog, std::int64_t run_id);

/// The same for one trial: the sequential one of its study, then its own measured and predicted
/// timeline.
std::vector<std::int64_t> trial_stack(const Catalog& catalog, std::int64_t trial_id);

/// The latest run that has a timeline, or the study that it was a repeat for; the latest of all
/// where none has; nothing in an empty catalog.
std::optional<std::int64_t> first_run(const Catalog& catalog);

/// The run whose losses and loads to show for `run_id`: itself; of a study, where one was trained,
/// the last repeat of the fastest trial.
std::int64_t run_with_loads(const Catalog& catalog, std::int64_t run_id);

/// The schedule that a timeline is of: its trial's planner and parameters, or its run's planner and
/// the run's name.
std::string timeline_title(const Catalog& catalog, const db::Timeline& timeline);

/// Where it comes from: "run 12, iteration 9", with the schedule's number where no trial tells what
/// the schedule is; empty for what was predicted for a trial.
std::string timeline_source(const Catalog& catalog, const db::Timeline& timeline);

/// The measured timeline that a predicted one is to be held against: of its trial, or of its run
/// where it has no trial, the one whose duration is nearest to the trial's figure, else the last.
/// Null where nothing was measured and for a timeline that is not predicted.
const db::Timeline* measured_beside(const Catalog& catalog, const db::Timeline& timeline);

/// A timeline beside what it is to be compared with, in words: of a predicted one how far it is off
/// the measured_beside() it, of a trial's measured one the trial's speed-up. Empty where there is
/// nothing to compare with.
std::string comparison_text(const Catalog& catalog, const db::Timeline& timeline);

/// {"forward_chunks": 4, "backward_chunks": 3, "axis": "batch"} -> "chunks 4/3, axis batch"; text
/// that is no JSON object as it is.
std::string parameters_text(const std::string& json);

/// Whether every word of `filter` is found, ignoring case, in one of the run's texts or is its id.
bool matches(const RunRow& run, const std::string& filter);

}  // namespace viewer
