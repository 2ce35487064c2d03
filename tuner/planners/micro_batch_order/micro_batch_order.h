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

inline constexpr PlannerOption kStageChunks{
    "degree", 1, 64, "chunks of blocks in every stage [1, 2, 4, 8, .. are tried]"};

/// Interleaved 1F1B: every stage has several chunks of blocks, so that pipelines fill and drain in
/// shorter steps, for as many times the messages. 1, 2, 4, 8, .. chunks are tried: of equal numbers
/// of blocks, where these divide, and of like times. With one chunk the order is that of 1F1B with
/// about twice as many forward passes ahead, which hides slow links for more memory. Nothing is
/// decided where stages do not divide the micro-batches. Throws moe::Refusal where more chunks are
/// asked for than there are blocks.
/// [Narayanan et al. 2021 (arXiv 2104.04473) 2.2; times and one chunk: ours]
moe::Schedule plan_interleaved(const Situation& situation, const PlannerOptions& options);
std::vector<Candidate> interleaved_candidates(const Situation& situation,
                                              const PlannerOptions& options);

/// The blocks of every chunk where a schedule places blocks: {"blocks_of_chunks": "3+2+2+1"}; else
/// "{}".
std::string stages_json(const moe::Schedule& schedule);

/// Of a schedule that decides nothing: for how many micro-batches and stages. "" of others.
std::string order_remark(const Situation& situation, const PlannerOptions& options,
                         const moe::Schedule& schedule);

/// GPipe's bubble, for GPipe, 1F1B and interleaved 1F1B. With p stages of v chunks and m micro-batches, t the longest
/// time of a stage for the forward and backward pass of one micro-batch, and u that for its updates
/// and all-reduces:
///     (m + (p - 1) / v) t + u.
/// [GPipe 2.3, reconstructed from its O((p-1)/(m+p-1)); 1/v: Narayanan et al. 2021, 2.2, printed]
double micro_batch_order_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
