#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"

/// Reads rows as the records of records.h. Every function sees one consistent state of the database
/// and takes readers and writers alike. Throws Error; `not_found` for an id that does not exist.
namespace db {

/// Which runs to load. Empty fields match everything; limit 0 is no limit.
struct RunFilter {
  std::string kind = {};
  std::string name = {};
  std::string status = {};
  std::int64_t limit = 0;
};

/// Newest first.
std::vector<Run> load_runs(const Connection&, const RunFilter& = {});
Run load_run(const Connection&, std::int64_t run_id);
Machine load_machine(const Connection&, std::int64_t machine_id);
Schedule load_schedule(const Connection&, std::int64_t schedule_id);

/// FLOP/s of the fastest matrix product that `moe-bench gemm` has measured on a rank of this
/// machine with this number of computing threads; `threads` is none on a GPU. None where it has
/// measured none.
std::optional<double> load_peak_flops_per_s(const Connection&, const Machine&,
                                            const std::string& device, const std::string& dtype,
                                            std::optional<int> threads);

/// The ranks of a run, by rank.
std::vector<RunRank> load_run_ranks(const Connection&, std::int64_t run_id);

/// The iterations of one run from `first_iteration` on, in order: a viewer of a running run asks
/// for the new ones.
std::vector<Iteration> load_iterations(const Connection&, std::int64_t run_id,
                                       int first_iteration = 0);

/// Which loads of one run to load: of iterations first..last, and of one layer where `layer` is
/// set. They come by iteration, layer, rank, expert, micro-batch.
struct LoadFilter {
  std::int64_t run_id = 0;
  int first_iteration = 0;
  std::optional<int> last_iteration = {};
  std::optional<int> layer = {};
};
std::vector<Load> load_loads(const Connection&, const LoadFilter&);

/// The tokens of each expert from all source ranks and micro-batches (both -1 in the records), as a
/// heat map of layer x expert shows them.
std::vector<Load> load_expert_loads(const Connection&, const LoadFilter&);

/// What ranks had to compute in one run, and where its experts were: by iteration, layer and rank.
/// Empty in databases of earlier versions.
std::vector<RankLoad> load_rank_loads(const Connection&, std::int64_t run_id);
std::vector<ExpertPlace> load_expert_places(const Connection&, std::int64_t run_id);

/// The iterations of a run whose loads are stored, in order.
std::vector<int> load_recorded_iterations(const Connection&, std::int64_t run_id);

/// Newest first.
std::vector<Study> load_studies(const Connection&);
std::optional<Study> find_study(const Connection&, const std::string& name);

/// The trials of a study in the order in which they were planned; of one status where it is given.
std::vector<Trial> load_trials(const Connection&, std::int64_t study_id,
                               const std::string& status = "");
Trial load_trial(const Connection&, std::int64_t trial_id);
std::vector<TrialRepeat> load_trial_repeats(const Connection&, std::int64_t trial_id);

/// The newest fit of each (op, device, ranks, link, network, nodes, machine that was measured), of
/// this machine (0: of any). Ordered by op.
std::vector<Fit> load_latest_fits(const Connection&, std::int64_t machine_id = 0);

/// Which measurements to load. Empty fields match everything. They come by run (newest first), op,
/// ranks, size.
struct MeasurementFilter {
  std::int64_t run_id = 0;
  std::string op = {};
  std::string device = {};
};
std::vector<Measurement> load_measurements(const Connection&, const MeasurementFilter& = {});

/// Which timelines to load. Empty fields match everything. They come as they were stored; those
/// whose spans were removed (prune.h) are left out.
struct TimelineFilter {
  std::int64_t run_id = 0;
  std::int64_t trial_id = 0;
  std::string kind = {};
};
std::vector<TimelineInfo> load_timelines(const Connection&, const TimelineFilter& = {});
TimelineInfo load_timeline(const Connection&, std::int64_t timeline_id);

/// The ops of a timeline, by op.
std::vector<TimelineOp> load_timeline_ops(const Connection&, std::int64_t timeline_id);

/// The edges of a timeline, by op, and its groups, by kind and rank. Empty where they are not
/// known.
std::vector<OpEdge> load_op_edges(const Connection&, std::int64_t timeline_id);
std::vector<RankGroup> load_rank_groups(const Connection&, std::int64_t timeline_id);

/// The memory of a timeline's ranks: tensors by number, allocations by rank and tensor. Empty where
/// it is not known.
TimelineMemory load_timeline_memory(const Connection&, std::int64_t timeline_id);

/// The spans of a timeline, by rank, then start.
std::vector<Span> load_spans(const Connection&, std::int64_t timeline_id);

/// The ranks that have spans, ascending. Costs O(ranks log spans).
std::vector<int> load_span_ranks(const Connection&, std::int64_t timeline_id);

/// Calls `visit` with each span of a rank, by start, as long as it returns true. Millions of spans
/// are never all in memory.
void visit_spans(const Connection&, std::int64_t timeline_id, int rank,
                 const std::function<bool(const Span&)>& visit);

}  // namespace db
