#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

/// Planners of the order of micro-batches. A model with one micro-batch gets the empty schedule and
/// no candidates.
namespace tuner {

/// Sends micro-batches through the stages of a pipeline: all forward then all backward (GPipe), or
/// one forward and one backward in turn (1F1B). Rows that stages pass on travel beside computation.
/// Stages have equal numbers of blocks or, where they differ (dense blocks, the head), such that the
/// fullest one takes the least time (stage_cuts.h), whichever is faster by simulation.
moe::Schedule plan_gpipe(const Situation& situation, const PlannerOptions& options);
moe::Schedule plan_one_f_one_b(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> gpipe_candidates(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> one_f_one_b_candidates(const Situation& situation,
                                              const PlannerOptions& options);
/// Interleaved 1F1B: every stage has several chunks of blocks, so that pipelines fill and drain in
/// shorter steps, for as many times the messages. 1, 2, 4, 8, .. chunks are tried, equal ones where
/// they divide and ones of like times. With one chunk the order is that of 1F1B with about twice as
/// many forward passes ahead, which hides slow links for more memory. Nothing is decided where stages
/// do not divide the micro-batches. Throws moe::Refusal where more chunks are asked for than there
/// are blocks.  [Narayanan et al. 2021 (arXiv 2104.04473) 2.2; times and one chunk: ours]
inline constexpr PlannerOption kStageChunks{"degree", 1, 64, "chunks of blocks in every stage"};
moe::Schedule plan_interleaved(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> interleaved_candidates(const Situation& situation,
                                              const PlannerOptions& options);
/// The blocks of every chunk where a schedule places blocks: {"blocks_of_chunks": "3+2+2+1"}.
std::string stages_json(const moe::Schedule& schedule);
/// Two micro-batches at a time: the backward pass of one beside the forward pass of the next, with
/// exchanges on a stream of their own. One computes while rows of the other travel.
/// [Megatron-Core's batch-level overlap of mixture-of-experts; DeepSeek's DualPipe, on one stage]
/// A layout with several stages gets the empty schedule and no candidates too.
moe::Schedule plan_two_batch(const Situation& situation, const PlannerOptions& options);

/// A plan as the only candidate, unless it decides nothing.
template <moe::Schedule (*plan)(const Situation&, const PlannerOptions&)>
std::vector<Candidate> if_any(const Situation& situation, const PlannerOptions& options) {
  moe::Schedule schedule = plan(situation, options);
  if (schedule.decisions.empty()) return {};
  return {{std::move(schedule), "{}"}};
}

/// Of a schedule that decides nothing: for how many micro-batches and stages. "" of others.
std::string order_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

/// GPipe's bubble, for GPipe and 1F1B. With p stages of v chunks and m micro-batches, t the longest
/// time of a stage for the forward and backward pass of one micro-batch, and u that for its updates
/// and all-reduces:
///     (m + (p - 1) / v) t + u.
/// [GPipe 2.3, reconstructed from its O((p-1)/(m+p-1)); 1/v: Narayanan et al. 2021, 2.2, printed]
double micro_batch_order_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

/// With m micro-batches, f and b the computation in the forward and backward pass of one, F and B
/// its exchanges, and u all that happens once in an iteration:
///     f + F + (m - 1) max(f + b, F + B) + b + B + u.  [ours: neither publishes a closed form]
double two_batch_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
