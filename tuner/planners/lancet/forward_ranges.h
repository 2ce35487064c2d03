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
  /// What is not cut although partition axes allow it or may allow it: refusals of `apply`, and how
  /// many searches for axes were given up.
  std::vector<std::string> left_out;
};

/// The ranges of forward ops that Lancet's dynamic program cuts, at most one around each MoE layer,
/// as far as partition axes allow (range_axes.h): along the batch (partition_range), into 2 to 8
/// parts that divide the sequences. A layer over whose gate no part can reach, as it needs the
/// whole batch, is cut along the batch from there on, or along capacity, which reaches no further
/// than its exchanges (pipeline_split), whichever is faster. [Lancet 5.2; a range of the exchanges
/// alone] `streams`: the schedule without ranges.
ForwardRanges forward_ranges(const Situation& situation, const moe::Schedule& streams,
                             int most_parts = kUsualMostParts);

}  // namespace tuner
