#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tuner/search/setup_pieces.h"

namespace tuner {

/// The least time in which a stage computes activations again, so that the others fit its memory: of
/// all numbers of pieces of each kind in each way. Where these are too many, pieces may be restored in
/// part, and those first that free most bytes a second: no whole pieces take less. [ours]
class LeastRecomputation {
 public:
  /// `kinds`: pieces that differ; their times are those of the `place`, of all that is repeated or of
  /// computation alone.
  LeastRecomputation(std::span<const PieceCost* const> kinds, std::size_t place,
                     std::vector<double> KeptActivations::*seconds = &KeptActivations::again_s);

  /// Seconds of one micro-batch, where the stage has `counts` [kind] pieces and so many bytes must go
  /// from forward to backward of each that is under way; infinite where no more can go.
  double seconds(std::span<const int> counts, double bytes) const;

 private:
  /// A way to keep less of a piece than all.
  struct Way {
    std::size_t kind = 0;
    double bytes = 0, seconds = 0;  ///< that it frees, and that it repeats
  };
  std::vector<Way> ways_;  ///< by kind
  /// From one way to keep the activations of a piece to one that keeps fewer.
  struct Step {
    std::size_t kind = 0;
    double bytes = 0, seconds = 0;
  };
  std::vector<Step> steps_;  ///< those that free most bytes a second first

  double in_part_s(std::span<const int> counts, double bytes) const;
  double arrangements(std::span<const int> counts) const;
  double whole_s(std::span<const int> counts, double bytes, std::size_t way, int left) const;
};

}  // namespace tuner
