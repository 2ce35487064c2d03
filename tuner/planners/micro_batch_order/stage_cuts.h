#pragma once

#include <vector>

#include "moe/passes/place_blocks.h"
#include "tuner/planners/situation/planner.h"

/// Which pipeline stage gets which blocks.
namespace tuner {

/// The times of a model's forward and backward passes, with nothing beside them.
struct BlockSeconds {
  std::vector<double> blocks;  ///< [block]
  double first = 0;            ///< what the stage of the first block does outside blocks
  double last = 0;             ///< the same for the stage of the last block, which has the head
};

/// The times in a situation: of every op on its slowest rank, all micro-batches together.
BlockSeconds block_seconds(const Situation& situation);

/// [piece]: the number of its blocks, at least 1. The blocks are cut, in order, into so many pieces
/// that the fullest one takes the least time; of such cuts into those whose times are most alike
/// (least sum of squares). There are at least as many blocks as pieces. Takes n^2 p time for n
/// blocks and p pieces.
std::vector<int> cuts_by_time(const BlockSeconds& seconds, int pieces);
/// The same for stages that have the pieces in turn (pieces_in_turn), from which blocks then move to
/// neighbouring pieces as long as the fullest stage gets shorter, or stays and the times of pieces
/// become more alike.
std::vector<int> cuts_of_stages(const BlockSeconds& seconds, int stages, int pieces);
/// [piece]: as many blocks as in any other, or the first ones have one more, as without a decision.
std::vector<int> equal_cuts(int blocks, int pieces);

/// The decision that gives stage s of p the pieces s, p + s, 2 p + s, ..
moe::PlaceBlocks pieces_in_turn(const std::vector<int>& blocks_of_pieces, int stages);

}  // namespace tuner
