#pragma once

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// `placed` with exchanges and transfers on the inter_node stream, and the transfers of replicated
/// experts in pieces among those of other blocks [Pro-Prophet Alg. 2]. Block by block, p the MoE
/// layer before b:
///   Trans of b  behind the dispatch of p, beside its experts (FEC), then behind its combine, beside what has no
///               experts (FNEC). The latter's time is known beforehand and filled first; the rest is left to the
///               former, however long they take.
///   Agg of b    behind all of b's backward phase, beside what has no experts (BNEC), then behind the dispatch of p,
///               beside its experts (BEC): filled likewise.
/// The first MoE layer of a pipeline stage has nobody before it: its parameters go out when the
/// iteration begins, its gradients home behind its own backward phase. A piece is a share of every
/// expert, in steps of a hundredth.
moe::Schedule with_hidden_transfers(const Situation& situation, moe::Schedule placed);

}  // namespace tuner
