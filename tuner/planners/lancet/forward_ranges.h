#pragma once

#include <map>
#include <string>
#include <vector>

#include "moe/passes/schedule.h"
#include "tuner/planners/situation/planner.h"

namespace tuner {

/// The most parts that a range is cut into; the least are 2.                          [Lancet 5.1]
inline constexpr int kUsualMostParts = 8;

struct ForwardRanges {
  std::vector<moe::Decision> cuts;
  std::map<int, std::string> obstacles;  ///< [MoE layer]: LayerCuts::obstacle, where there is one
  std::vector<std::string> refused;  ///< refusals by `apply` of cuts that a layer seemed to allow
};

/// The ranges of forward ops that Lancet's dynamic program cuts, at most one around each MoE layer,
/// as far as they are legal (layer_cuts.h). They are cut along the batch (partition_range),
/// into 2 to `most_parts` parts that divide the sequences. Where the gate needs the whole batch,
/// its layer is cut after the gate along the batch, or along capacity over its exchanges alone
/// (pipeline_split), whichever is faster. [Lancet 5.2; a range of the exchanges alone] `streams` is
/// the schedule without ranges.
ForwardRanges forward_ranges(const Situation& situation, const moe::Schedule& streams,
                             int most_parts = kUsualMostParts);

}  // namespace tuner
