#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"

namespace tuner {

/// The time of the ops of one name in one phase of one layer.
struct BreakdownRow {
  int layer = -1;  ///< -1: outside the blocks
  moe::Phase phase = moe::Phase::forward;
  std::string op;    ///< "all_to_all dispatch"
  std::string kind;  ///< "all_to_all"
  moe::Stream stream = moe::Stream::compute;
  std::int64_t calls = 0;     ///< on the rank that has most
  double time_s = 0;          ///< of all calls: the mean over ranks. Waits for other ranks count
  double longest_rank_s = 0;  ///< the same on the rank where it is longest
  double of_layer_share = 0;  ///< time_s over that of all rows of the layer and phase
};

/// The rows of all layers that have spans, ordered by layer, phase and first op. The times of
/// streams that run beside each other are added up.
std::vector<BreakdownRow> breakdown(const moe::Program& program, const moe::Timeline& timeline);

}  // namespace tuner
