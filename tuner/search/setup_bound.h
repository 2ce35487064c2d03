#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "moe/model/model.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/planners/situation/planner.h"
#include "tuner/search/setup.h"

namespace tuner {

/// What a block, or what is outside the blocks of a stage, costs a rank. Times are by the place in
/// the stage, or one for all where loads are uneven: their mean, which no rank with most exceeds.
struct PieceCost {
  // Of one micro-batch, on the stream that computes:
  std::vector<double> forward_s;    ///< forward, with exchanges
  std::vector<double> pass_s;       ///< forward and backward, with exchanges
  std::vector<double> computing_s;  ///< without communication
  std::vector<double> once_s;       ///< what comes once in an iteration
  std::int64_t state_bytes = 0;     ///< parameters, gradients and optimizer states
};

/// Blocks that cost alike: with experts or not, the window of their attention, their rotary base.
using BlockKind = std::tuple<bool, std::int64_t, double>;

/// The costs of a micro-batch of a setup by piece, from a Program of one micro-batch and of the
/// first blocks alone, as many as have one of each kind.
struct SetupPieces {
  std::map<BlockKind, PieceCost> blocks;
  PieceCost first;  ///< outside the blocks, in the first stage
  PieceCost last;   ///< and in the last, where that is another
};

/// The costs of the setup's pieces and the same where the optimizer is sharded; of that none where
/// no ranks hold copies. Where states exceed the memory of a rank, there are no times. `routing` as
/// in make_routings(). Throws as build_iteration and program_costs.
struct SetupCosts {
  SetupPieces whole;
  std::vector<SetupPieces> sharded;  ///< at most one
};
SetupCosts setup_costs(const moe::Model& model, const TrainingSetup& setup,
                       const CostedCluster& costed, const std::string& routing);

/// Whether costs of larger sizes are never higher by the unit, so that fewer and larger micro-batches
/// never compute and send longer.
bool larger_is_no_slower(const CostModel& costs);

/// The pieces of a setup with another number of micro-batches, larger than `from`. Where
/// larger_is_no_slower() they cost no less, but for rows that do not divide.
SetupPieces in_micro_batches(SetupPieces pieces, int from, int to);

/// A time that no schedule of planners that pass micro-batches so can beat, from the work of the
/// fullest stage (where blocks may move, of the mean stage):
///   one_after_other      m times the passes through all stages, and what the first does once
///   filled_and_drained   a pass of the stages before and m of its own, with the best cuts
///   bubbles_filled       m passes of the mean stage
///   exchanges_hidden     m times computation or communication, the longer
///   undecided            m times the computation of the mean stage
/// The middle two with what comes once. [ours]
double bound_s(const SetupPieces& pieces, const moe::Model& model, const TrainingSetup& setup,
               Passes passes);

/// Bytes that no schedule of the setup that search tries can do without, on the rank that needs
/// most: the states, the optimizer's shared out, and what one micro-batch keeps from forward to
/// backward where all blocks are restored whole. Throws as build_iteration.
std::int64_t least_bytes(const moe::Model& model, const TrainingSetup& setup,
                         const Cluster& cluster);

/// The least bytes of states on the rank that has most, wherever blocks are cut into stages.
std::int64_t state_bytes(const SetupPieces& pieces, const moe::Model& model,
                         const TrainingSetup& setup);

}  // namespace tuner
