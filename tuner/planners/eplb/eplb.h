#pragma once

#include "tuner/planners/planners.h"

namespace tuner {

/// EPLB: copies of experts by load on one more slot of every rank, packed by load per copy (eplb_packing.h); on the node of
/// an expert's home where each node of a stage has as many ranks, and more than one, on any rank otherwise. EPLB's
/// copies are there for good; here they are sent in every iteration, and their gradients home.
moe::Schedule plan_eplb(const Situation& situation, const PlannerOptions& options);

/// With copies on the node alone, where that is possible, and anywhere.
std::vector<Candidate> eplb_candidates(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
