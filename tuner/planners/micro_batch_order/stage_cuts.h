#pragma once

#include <vector>

#include "moe/passes/place_blocks.h"
#include "tuner/planners/situation/planner.h"

/// Which pipeline stage gets which blocks. A chunk is blocks that follow each other in a stage
/// (moe/passes/place_blocks.h).
namespace tuner {

/// The times of a model's forward and backward passes, with nothing beside them.
struct BlockSeconds {
  std::vector<double> blocks;  ///< [block]
  double first = 0;            ///< what the stage of the first block does outside blocks
  double last = 0;             ///< the same for the stage of the last block, which has the head
};

/// The times in a situation: of every op on its slowest rank, all micro-batches together.
BlockSeconds block_seconds(const Situation& situation);

/// [chunk]: the number of its blocks, at least 1. The blocks are cut, in order, into so many chunks
/// that the fullest one takes the least time; of such cuts into those whose times are most alike
/// (least sum of squares). There are at least as many blocks as chunks. Takes n^2 p time for n
/// blocks and p chunks.
std::vector<int> cuts_by_time(const BlockSeconds& seconds, int chunks);
/// The same for stages that have the chunks in turn (chunks_in_turn). Blocks then move to
/// neighbouring chunks as long as the fullest stage gets shorter, or stays as it is and the times of
/// chunks become more alike.
std::vector<int> cuts_of_stages(const BlockSeconds& seconds, int stages, int chunks);
/// [chunk]: as many blocks as in any other, or the first ones have one more, as without a decision.
std::vector<int> equal_cuts(int blocks, int chunks);

/// The decision that gives stage s of p the chunks s, p + s, 2 p + s, ..
moe::PlaceBlocks chunks_in_turn(const std::vector<int>& blocks_of_chunks, int stages);

}  // namespace tuner
