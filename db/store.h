#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "db/connection.h"
#include "db/records.h"

/// Writes rows. Each function is one short transaction of its own, or part of the caller's
/// Transaction. Throws Error: `locked`, `disk_full`, `invalid` (an unknown id, a status that does
/// not exist, a text that is not JSON, a number that is not finite). Only the losses of an
/// Iteration may be NaN or infinite: training diverges, and that is stored as NULL. After a throw
/// nothing of the call is stored.
namespace db {

/// The time now, in Unix seconds. It may be set back: for intervals take a steady clock.
double now();

/// 128-bit hash of a text, in hex: the identity of a machine.
std::string content_hash(const std::string& text);

/// The identity of a schedule: a hash of its JSON that ignores "planner", blanks and the order of
/// members.
/// Throws Error (invalid) where `json` is no object.
std::string decisions_hash(const std::string& json);

// --- machines and schedules: one row per content; the id of the row there is, or of a new one ----

std::int64_t find_or_insert(Connection&, const Machine&);

/// `json` is an object. Two that differ at most in their member "planner" are one schedule, stored
/// under decisions_hash(json) (`hash` is set here) and under the name of the first planner.
std::int64_t find_or_insert(Connection&, Schedule);

// --- runs ----------------------------------------------------------------------------------------

/// started_at and heartbeat_at of 0 mean now; an empty status means "running".
std::int64_t insert(Connection&, Run);

/// Stores the beginning of a run of this process (this_run() in identity.h makes the row), with its
/// machine and its schedule if it has one; the planner of the schedule becomes that of the run.
/// Returns the id of the run.
std::int64_t begin_run(Connection&, Run, const Machine&,
                       const std::optional<Schedule>& schedule = std::nullopt);

/// Notes that the run is alive.
void heartbeat_run(Connection&, std::int64_t run_id);

/// status: "done" or "failed" (with the reason). "done" is refused where the file was damaged
/// meanwhile (require_sound in check.h).
void finish_run(Connection&, std::int64_t run_id, const std::string& status,
                const std::string& error = "");

/// Notes what share of the throughput of even routing a run had.
void store_balanced_share(Connection&, std::int64_t run_id, double share);

/// Turns a running run into a killed one that ended at its last heartbeat. Does nothing to any
/// other.
void mark_run_killed(Connection&, std::int64_t run_id);
/// Does so to every running run without a heartbeat for that long, or with one that is as far
/// ahead; returns how many.
int mark_stale_runs_killed(Connection&, double older_than_s);

/// Replaces ranks that are there already: peaks are known only at the end.
void insert(Connection&, std::span<const RunRank>);
void insert(Connection&, std::span<const Iteration>);
void insert(Connection&, std::span<const Load>);
void insert(Connection&, std::span<const Balance>);
void insert(Connection&, std::span<const RankLoad>);
void insert(Connection&, std::span<const ExpertPlace>);
void insert(Connection&, std::span<const Measurement>);
void insert(Connection&, std::span<const Fit>);
void insert(Connection&, std::span<const PredictedSetup>);
void insert(Connection&, std::span<const Figure>);
void insert(Connection&, std::span<const RankActivity>);
void insert(Connection&, std::span<const OpActivity>);

// --- timelines -----------------------------------------------------------------------------------

/// Stores a timeline with its ops and spans, and how its ranks spent their time
/// (timeline/activity_rows.h); their timeline_id is set here, and duration_s of 0
/// becomes the end of the last span. Spans are best ordered by rank and start. `edges`, `groups`
/// and `memory` are left out where they are not known; what is there already of another timeline is
/// stored once (programs.h). The times of memory are those of the ops' spans on its rank. Returns
/// the timeline's id.
std::int64_t insert(Connection&, const TimelineInfo&, std::span<const TimelineOp>,
                    std::span<const Span>, std::span<const OpEdge> edges = {},
                    std::span<const RankGroup> groups = {}, const TimelineMemory& memory = {});

/// Notes that the measured timelines of a run belong to this trial.
void link_timelines(Connection&, std::int64_t run_id, std::int64_t trial_id);

// --- studies -------------------------------------------------------------------------------------

/// Throws Error (invalid) where the name is taken: find_study (load.h) tells. created_at of 0 means
/// now.
std::int64_t insert(Connection&, Study);

/// Writes the fields of a study (found by id) that are known only after it was begun: profile runs,
/// cost model, cluster. Costs are kept by refinement too (StudyCosts).
void update_study(Connection&, const Study&);

/// Stores a new trial, "planned" where status is empty. Where the study has a trial of this
/// schedule already, calls name_planner for that one. Returns the id.
std::int64_t find_or_insert(Connection&, Trial);
/// Notes that this planner came to the trial's schedule too: adds it to also_planned_by, once,
/// unless it is the trial's own planner.
void name_planner(Connection&, std::int64_t trial_id, const std::string& planner);

/// Writes the predicted figures of `trial` (found by id): paper, predicted, lower bound and what
/// bounds, peak, deviation. Deletes its predicted timelines.
void replace_prediction(Connection&, const Trial&);

/// Turns a planned trial into a running one, which has no failure any more. False where it is not
/// planned: another process took it, or it is finished.
bool claim_trial(Connection&, std::int64_t trial_id);
/// Of the run of a process that runs a study, and of the trials that are running.
void heartbeat_study(Connection&, std::int64_t run_id, std::int64_t study_id);

/// Writes status, error, every figure and parameters of `trial` (found by id), not what it is, when
/// it began and who else planned it. Its failure is its status, or nothing where it is done.
/// finished_at unset means now.
void finish_trial(Connection&, Trial);

/// Turns a running trial into a planned one; `failure` (Trial::failure) and `error` say why it was not
/// measured, and are empty where it was not tried.
void unclaim_trial(Connection&, std::int64_t trial_id, const std::string& failure,
                   const std::string& error);

/// Turns the trials of a study that ran out of memory, hung, crashed or failed into planned ones.
/// Returns how many.
int retry_failed_trials(Connection&, std::int64_t study_id);

/// Notes how a trial compares with the others of its study: Trial::measured_s,
/// Trial::least_speedup, Trial::most_speedup and Trial::tied_with.
void set_comparison(Connection&, std::int64_t trial_id, double measured_s,
                    std::optional<double> least_speedup, std::optional<double> most_speedup,
                    const std::string& tied_with);

/// Stores how good the predictions of a study were; replaces what was there of it.
void insert(Connection&, const PredictionQuality&);

/// Stores one measured repeat; replaces one that is there already.
void insert(Connection&, const TrialRepeat&);

/// Turns every running trial without a heartbeat for that long into a planned one, of one study or
/// (0) of all. Returns how many. So a study that was killed goes on; a trial that is done, ran out
/// of memory, hung or crashed is never tried again.
int requeue_stale_trials(Connection&, std::int64_t study_id, double older_than_s);
/// Does so to every running trial of a study whose process is gone, whatever the clocks say.
int requeue_trials(Connection&, std::int64_t study_id);

}  // namespace db
