#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "moe/model/model.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/search/setup.h"

namespace tuner {

/// The time at a place of the stage, of the times of a piece below; 0 where it has none.
inline double at_place(const std::vector<double>& seconds, std::size_t place) {
  return place < seconds.size() ? seconds[place] : 0;
}

inline void sum_up(std::vector<double>& sum, const std::vector<double>& more, double times = 1) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += times * more[i];
}

/// What activations of a micro-batch take from forward to backward, where some are computed again.
struct KeptActivations {
  std::int64_t bytes = 0;             ///< the least that stays on any rank
  std::int64_t routed_row_bytes = 0;  ///< of a routed row, among them
  // What is repeated in backward, as PieceCost's times:
  std::vector<double> again_s{};          ///< with exchanges
  std::vector<double> again_staying_s{};  ///< as PieceCost::staying_s
};

/// What a block, or what is outside the blocks of a stage, costs a rank. Times are by the place in
/// the stage, or one for all where loads are uneven: their mean, which no rank with most exceeds.
struct PieceCost {
  // Of one micro-batch, on the stream that computes:
  std::vector<double> forward_s;  ///< forward, with exchanges
  std::vector<double> pass_s;     ///< forward and backward, with exchanges
  /// Without what planners let go on a stream of its own: exchanges of routed rows, all-reduces.
  std::vector<double> staying_s;
  std::vector<double> once_s;    ///< what comes once in an iteration
  std::int64_t state_bytes = 0;  ///< parameters, gradients and optimizer states
  /// Of one micro-batch: all of it, then with dense layers restored, then with whole blocks restored
  /// (restore_block). Empty where memory is not limited.
  std::vector<KeptActivations> kept;

  /// The least that stays.
  std::int64_t least_kept_bytes() const {
    const auto least = std::ranges::min_element(kept, {}, &KeptActivations::bytes);
    return least == kept.end() ? 0 : least->bytes;
  }
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

/// The piece's kind of block.
BlockKind kind_of_block(const moe::Model& model, int block);

/// The costs of the setup's pieces and the same where the optimizer is sharded; of that none where
/// no ranks hold copies. The last of both tells what restored blocks keep, the other one does not:
/// search restores nothing where the optimizer can be sharded and is not. Where
/// the memory of a rank is exceeded by states with what one of `most` micro-batches keeps, there are
/// no times; `most`: of the layout, no less than the setup's unless it is 0. `routing` as in
/// make_routings(). Throws as build_iteration and program_costs.
struct SetupCosts {
  SetupPieces whole;
  std::vector<SetupPieces> sharded;  ///< at most one
};
SetupCosts setup_costs(const moe::Model& model, const TrainingSetup& setup,
                       const CostedCluster& costed, const std::string& routing, int most = 0);

/// Whether costs of larger sizes are never higher by the unit, so that fewer and larger micro-batches
/// never compute and send longer.
bool larger_is_no_slower(const CostModel& costs);

/// The pieces of a setup with another number of micro-batches, larger than `from`. Where
/// larger_is_no_slower() they cost no less, but for rows that do not divide. They keep no less: a
/// rank may lose a routed row of each of the `experts` where rows do not divide.
SetupPieces in_micro_batches(SetupPieces pieces, int from, int to, int experts);

}  // namespace tuner
