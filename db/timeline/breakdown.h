#pragma once

#include <cstdint>
#include <vector>

#include "db/timeline/timeline.h"

namespace db {

/// The time of the ops of one name on one stream in one phase of one layer.
struct BreakdownRow {
  TimelineOp sample;          ///< the first of the ops; layer -1: outside the blocks
  std::int64_t calls = 0;     ///< on the rank that has most
  double time_s = 0;          ///< of all calls: the mean over ranks. Waits for other ranks count
  double longest_rank_s = 0;  ///< the same on the rank where it is longest
  double of_layer_share = 0;  ///< time_s over that of all rows of the layer and phase
};

/// The rows of all layers that have spans, ordered by layer, phase and first op. The times of
/// streams that run beside each other are added up.
std::vector<BreakdownRow> breakdown(const Timeline& timeline);

}  // namespace db
