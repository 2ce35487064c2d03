#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "db/connection.h"
#include "db/records.h"

namespace db {

/// The timeline that `--run` stands for: that of the last iteration measured, else the shortest
/// prediction. Throws Error where the run has none.
TimelineInfo default_timeline(const Connection& connection, std::int64_t run_id);

/// What was predicted for a measured timeline: a prediction of its run, else of the trial that the
/// run repeats; the newest of several. None where there is none, and for other timelines.
std::optional<TimelineInfo> prediction_beside(const Connection& connection,
                                              const TimelineInfo& timeline);

/// Writes how many tokens every rank sent to every expert in one iteration, as JSON that `moe-tune
/// --routing FILE` reads: an entry for each MoE layer and micro-batch. Where copies were dropped it
/// has what was asked for too, and the capacity of the run's model. The ranks of a layer are those
/// of its pipeline stage. Of a run that was imported it writes "counts" of any total. `path` is that
/// of an OutputFile, which must not be the database. Throws Error (not_found) where the loads of the
/// iteration are not stored, (invalid) where some lack.
void export_routing(const Connection& connection, std::int64_t run_id, int iteration,
                    const std::string& path);

/// The same of every iteration whose loads are stored: FOLDER/iteration-N.json, which `moe-tune
/// --routing FOLDER` reads. Makes the folder. Returns the number of files. Throws as
/// make_output_folder().
int export_routings(const Connection& connection, std::int64_t run_id, const std::string& folder);

/// The last iteration of a run whose loads are stored. Throws Error (not_found) where none are.
int last_loads_iteration(const Connection& connection, std::int64_t run_id);

}  // namespace db
