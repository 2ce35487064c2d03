#pragma once

#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The most parts that a range is cut into; the least are 2.                          [Lancet 5.1]
inline constexpr int kUsualMostParts = 8;

struct ForwardRanges {
  std::vector<moe::Decision> cuts;
  /// Cuts that partition axes allow, or may allow, and that were not made: refusals of `apply`, and
  /// the number of searches that were given up.
  std::vector<std::string> left_out;
};

/// The ranges of forward ops that Lancet's dynamic program cuts, at most one around each MoE layer,
/// as far as partition axes allow (range_axes.h). They are cut along the batch (partition_range),
/// into 2 to `most_parts` parts that divide the sequences. Where the gate needs the whole batch,
/// its layer is cut after the gate along the batch, or along capacity over its exchanges alone
/// (pipeline_split), whichever is faster. [Lancet 5.2; a range of the exchanges alone] `streams` is
/// the schedule without ranges.
ForwardRanges forward_ranges(const Situation& situation, const moe::Schedule& streams,
                             int most_parts = kUsualMostParts);

}  // namespace tuner
