#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "moe/model/model.h"
#include "tuner/search/least_recomputation.h"
#include "tuner/search/setup_pieces.h"

/// How pipeline stages cut the pieces of a setup between blocks: the times and bytes of such cuts.
namespace tuner {

/// The pieces in the order of rows.
std::vector<const PieceCost*> pieces_in_turn(const SetupPieces& pieces, const moe::Model& model);

/// The pieces as stages cut them, in the order of rows.
struct PiecesInTurn {
  struct Piece {
    std::size_t kind = 0;
    double forward_s = 0, pass_s = 0, once_s = 0;
    std::int64_t state_bytes = 0, kept_bytes = 0, least_kept_bytes = 0;
  };
  std::vector<Piece> pieces;
  std::size_t kinds = 0;
  LeastRecomputation again;
};

/// Times are those of the place in the stages where all together take longest. `again`: the times of
/// what is computed again.
PiecesInTurn in_turn(const SetupPieces& pieces, const moe::Model& model,
                     std::vector<double> KeptActivations::*again = &KeptActivations::again_s);

inline constexpr std::int64_t kAnyBytes = std::numeric_limits<std::int64_t>::max();

/// A cut of stages that are filled and drained. A stage waits for forward of all before it, then has m
/// passes of its own, and then backward of those before is left, and beside it what the stage does
/// once. It keeps what as many micro-batches keep as there are stages from it on.
struct StageCut {
  std::vector<int> blocks;          ///< [stage]; none where the least time is that of no legal cut
  std::vector<std::int64_t> bytes;  ///< [stage]: states and all that is kept, nothing restored
  double least_s = 0;               ///< no legal cut takes less
};
/// The fastest cut. What does not fit `memory_bytes` [stage] is computed again. None where no cut fits.
/// [ours]
std::optional<StageCut> fastest_cut(const PiecesInTurn& turn, const TrainingSetup& setup,
                                    std::span<const std::int64_t> memory_bytes);
/// The least bytes of a rank with which there is a cut.
std::int64_t least_bytes_of_cut(const PiecesInTurn& turn, const TrainingSetup& setup);

/// What all stages compute again for one micro-batch, together, where one is under way; 0 where that
/// does not fit.
double computed_again_s(const PiecesInTurn& turn, const TrainingSetup& setup,
                        std::int64_t memory_bytes);

}  // namespace tuner
