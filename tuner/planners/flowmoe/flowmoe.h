#pragma once

#include <string>
#include <vector>

#include "tuner/planners/situation/planner.h"

namespace tuner {

inline constexpr PlannerOption kTogether{
    "degree", 2, 64, "micro-batches that pass the blocks together [2, 4, 8, .. and all are tried]"};
inline constexpr PlannerOption kSliceKib{
    "slice_kib", 1, 1'048'576,
    "most KiB of gradients that one all-reduce sums [searched from 16384 down to 128]"};

/// FlowMoE: parts of the batch pass attention, gate, dispatch, experts and combine of every block one
/// behind the other, forward and then backward, so that rows of one travel while others compute,
/// attention too. Gradients are all-reduced in slices of one size where backward leaves the stream of
/// exchanges idle. [FlowMoE (arXiv 2510.00207) and ZJU-CNLAB/FlowMoE 52ebe5d, code]
///
/// The parts are micro-batches, in groups of `degree` (moe::MicroBatchOrder::in_groups): they are
/// whole sequences with activations of their own, and add up their gradients. Each is routed by
/// itself, as the paper's parts are. So a model with one micro-batch, or a layout with several
/// stages, gets the empty schedule and no candidates.
///
/// Reconstructed: priorities. The paper starts a slice whenever no exchange runs; here each slice has
/// its place in a stream, found by timing the ops of backward as Lancet does. The paper searches the
/// size of slices by trainings (Bayesian optimisation, 128 KiB to 16 MiB); here sizes are halved from
/// the largest on until simulation gets slower.
moe::Schedule plan_flowmoe(const Situation& situation, const PlannerOptions& options);
/// One for each number of micro-batches together, with its best slices. Throws moe::Refusal where
/// more are asked for than there are.
std::vector<Candidate> flowmoe_candidates(const Situation& situation,
                                          const PlannerOptions& options);

/// {"together": 2, "gradient_slices": 24}; "{}" where nothing is decided.
std::string flowmoe_parameters(const moe::Schedule& schedule);

/// The forward or backward pass of parts that take turns at their exchanges.
struct PassInParts {
  double computing_s = 0, exchanging_s = 0;  ///< of all parts
  double first_s = 0;    ///< computation of the first part before its first exchange
  double last_s = 0;     ///< computation of the last part after its last exchange
  double longest_s = 0;  ///< the longest computation and exchanges of one part
};
/// The longest of: all computation; all exchanges, with what comes before and after them; one part.
/// It is exact where all parts and stretches between exchanges are alike: for r parts, n exchanges of
/// each, c the time of a stretch and x that of an exchange
///     max((n + 1) r c, 2 c + n r x).                                    [ours: the paper has none]
double pass_in_parts_s(const PassInParts& pass);

/// Both passes of every group so, and what comes once. All-reduces on the stream of exchanges count as
/// far as they exceed its idle time in the last backward pass.  [ours]
double flowmoe_paper_seconds(const Situation& situation, const moe::Schedule& schedule);

}  // namespace tuner
