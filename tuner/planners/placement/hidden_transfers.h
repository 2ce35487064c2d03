#pragma once

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// Puts the exchanges and transfers of `placed` on the inter_node stream, and the transfers of
/// replicated experts in shares among the ops of other blocks [Pro-Prophet Alg. 2]. For block b,
/// with p the MoE layer before it:
/// - Trans of b goes after the dispatch of p, beside p's experts (FEC), and after the combine of p,
///   beside computation without experts (FNEC). The time of FNEC is known beforehand, so it is
///   filled first. The experts get the rest, even if they do not hide it.
/// - Agg of b goes after b's backward phase, beside computation without experts (BNEC), and after
///   the dispatch of p, beside p's experts (BEC), filled likewise.
/// The first MoE layer of a pipeline stage has no layer before it: its parameters are sent when the
/// iteration begins, and its gradients come home after its own backward phase. A share is a part of
/// every expert, in steps of a hundredth. With `halves`, both places get half, as in the authors'
/// code (which sends half of the experts at each).
moe::Schedule with_hidden_transfers(const Situation& situation, moe::Schedule placed,
                                    bool halves = false);

}  // namespace tuner
