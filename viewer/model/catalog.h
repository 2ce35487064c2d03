#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "viewer/model/load.h"

/// Questions about the catalog: which timelines belong together, which run to show first.
namespace viewer {

/// The status of a run as it is shown. One that says "running" and has been silent for longer than
/// any step takes is "silent".
std::string shown_status(const RunRow& run);

/// "last sign of life 7 h 12 min ago" for a run that says "running", else empty.
std::string sign_of_life_text(const RunRow& run);

const RunRow* find_run(const Catalog& catalog, std::int64_t run_id);
const TrialRow* find_trial(const Catalog& catalog, std::int64_t trial_id);

/// A layout without its degrees of 1: "dp=1,ep=2,esp=2,tp=1" -> "ep=2 esp=2".
std::string divided_text(const std::string& layout);

/// The last loss of a trial minus that of the sequential trial: "+0.00121". Empty where the trial's
/// schedule does not change results, or was not trained.
std::string loss_change_text(const db::TrialFigures& figures);

/// Sorts timelines for a list. Those of trials come first, in the catalog's order of trials,
/// measured before predicted. The others follow by run, latest first, and by iteration.
void sort_timelines(Catalog& catalog);

/// The timelines of a run: its own, those of the trial that it repeats, and for a study those of
/// its trials.
std::vector<const db::TimelineInfo*> timelines_of(const Catalog& catalog, std::int64_t run_id);

/// The iterations of a run that have a measured timeline, ascending.
std::vector<int> measured_iterations(const Catalog& catalog, std::int64_t run_id);

/// The timelines to stack when a run is picked: its typical measured one (db/timeline/typical.h)
/// above the predicted one. For a study, the sequential trial above the fastest; measured timelines
/// where there are any.
std::vector<std::int64_t> default_stack(const Catalog& catalog, std::int64_t run_id);

/// The same for one trial: the sequential one of its study, then its own measured and predicted
/// timeline.
std::vector<std::int64_t> trial_stack(const Catalog& catalog, std::int64_t trial_id);

/// The latest run that has a timeline, or the study that it repeats a trial of. Where no run has a
/// timeline, the latest run. Nothing in an empty catalog.
std::optional<std::int64_t> first_run(const Catalog& catalog);

/// The run whose losses and loads are shown for `run_id`. For a study with trained trials it is the
/// last repeat of the fastest one, otherwise the run itself.
std::int64_t run_with_loads(const Catalog& catalog, std::int64_t run_id);

/// The schedule of a timeline: planner and parameters of its trial, or planner and name of its run.
std::string timeline_title(const Catalog& catalog, const db::TimelineInfo& timeline);

/// Where a timeline comes from: "run 12, iteration 9". Without a trial the schedule's number is
/// added. Empty for a timeline that was predicted for a trial.
std::string timeline_source(const Catalog& catalog, const db::TimelineInfo& timeline);

/// The measured timeline that a predicted one is compared with: the typical one of the same trial, or
/// of the same run if there is no trial. Null where nothing was measured, and for timelines that are
/// not predicted.
const db::TimelineInfo* measured_beside(const Catalog& catalog, const db::TimelineInfo& timeline);

/// The timeline that another is compared with: measured_beside() of a predicted one, the prediction
/// for the trial or the run of a measured one. Null where there is none.
const db::TimelineInfo* compared_with(const Catalog& catalog, const db::TimelineInfo& timeline);

/// The figure of a trial with the spread of its repeats: "trial 45.2 ms (44.1 ms to 46.0 ms in 3
/// repeats)". Empty where it was not measured.
std::string trial_text(const TrialRow& trial);

/// A comparison in words. For the prediction of a trial it is its error against the trial's figure,
/// for that of a run its error against measured_beside(). For a trial's measured timeline it is the
/// trial's figure and speed-up. Empty where there is nothing to compare with.
std::string comparison_text(const Catalog& catalog, const db::TimelineInfo& timeline);

/// {"forward_chunks": 4, "backward_chunks": 3, "axis": "batch"} -> "chunks 4/3, axis batch"; text
/// that is no JSON object as it is.
std::string parameters_text(const std::string& json);

/// The schedules of TrialFigures::tied_with: `joint {"refinement": 1}, tutel` -> "joint (refinement
/// 1); tutel". A comma inside braces parts no names.
std::string tied_text(const std::string& tied_with);

/// Whether every word of `filter` is found, ignoring case, in one of the run's texts or is its id.
bool matches(const RunRow& run, const std::string& filter);

}  // namespace viewer
