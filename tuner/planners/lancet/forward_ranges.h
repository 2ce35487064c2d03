#pragma once

#include <vector>

#include "moe/passes/partition_range.h"
#include "tuner/planners/planners.h"

namespace tuner {

/// The ranges of forward ops that Lancet's dynamic program cuts along the batch, at most one around each MoE layer.
/// Layers whose gate or order does not allow it stay whole. Empty where no number from 2 to 8 divides the sequences.
/// `streams`: the schedule without ranges.
std::vector<moe::PartitionRange> forward_ranges(const Situation& situation,
                                                const moe::Schedule& streams);

}  // namespace tuner
