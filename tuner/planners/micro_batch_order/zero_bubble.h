#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

/// Zero bubble (arXiv 2401.10241): gradients of weights fill the time in which a stage would wait.
/// The order itself is moe::zero_bubble_orders. Its limit of memory counts micro-batches. The
/// gradients of rows from which weight gradients are still to be computed, those of logits too, come
/// on top.
namespace tuner {

inline constexpr PlannerOption kZeroBubbleMemory{
    "h", 1, 2, "1 (ZB-H1): the memory of 1F1B; 2 (ZB-H2): twice its activations [both are tried]"};

/// Orders for the memory of 1F1B and for twice its activations. Each of them for passes that take
/// equally long, and for the times of the cost model, which the schedule then states. Each of these
/// with blocks in stages as they are and, where that differs, cut by time. None where there is one
/// micro-batch or one stage.
std::vector<Candidate> zero_bubble_candidates(const Situation& situation,
                                              const PlannerOptions& options);

/// The fastest of these by simulation that fit the memory of a rank; of all where none fits. The
/// empty schedule where there are none.
moe::Schedule plan_zero_bubble(const Situation& situation, const PlannerOptions& options);

/// {"h": 1, "times": "equal"}, with "blocks_of_chunks" where blocks are placed; "{}" for a schedule
/// without such an order.
std::string zero_bubble_parameters(const moe::Schedule& schedule);

/// With p stages and m micro-batches, F, B and W the times of the passes of the fullest stage, and u
/// that for updates and all-reduces:
///     m (F + B + W) + (p - 1) max(F, F + B - h W) + u.
/// [2401.10241, Table 1: (p - 1) (F + B - h W) of ZB-Hh. Ours: one iteration begins on the last
/// stage when the first micro-batch comes, at (p - 1) F]
double zero_bubble_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

/// Zero bubble in a V: every stage has two chunks of blocks, which rows pass down the stages and
/// back, so that the embedding and the head are in the first one (moe::ChunkPath::v). Stages have
/// equal numbers of blocks. Orders for two limits of activations: `in_flight` of p micro-batches, as
/// 1F1B has (ZBV), and p / 2 + 1, about half of it (V-Half). Each of them for passes that take
/// equally long, and for predicted times. None where there is one micro-batch or one stage, where
/// the head is tied, and where there are fewer blocks than chunks.
/// [arXiv 2401.10241, 2405.15362; greedy, reconstructed]
inline constexpr PlannerOption kVInFlight{
    "in_flight", 1, 1024,
    "most micro-batches whose activations a stage keeps [the stages, and half of them and 1]"};
std::vector<Candidate> zero_bubble_v_candidates(const Situation& situation,
                                                const PlannerOptions& options);
/// As plan_zero_bubble.
moe::Schedule plan_zero_bubble_v(const Situation& situation, const PlannerOptions& options);

/// {"kept": 4, "times": "equal"}, of in_flight; "{}" for a schedule without such an order.
std::string zero_bubble_v_parameters(const moe::Schedule& schedule);

/// As zero_bubble_paper_seconds, with a bubble of (p - 1) F / 2 with p micro-batches in flight, and
/// of (p - 1) (F + B + W) / 2 with fewer. [2405.15362: none for F = B = W, and half of that of 1F1B.
/// Ours: (p - 1) F / 2, when the first micro-batch comes to the last stage]
double zero_bubble_v_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
