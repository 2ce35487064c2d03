#pragma once

#include <cstdint>

#include "moe/model/model.h"

namespace moe {

/// What tables of models say about a model, counted in the Program of one rank.
struct ModelFigures {
  /// Numbers that the optimizer learns: not the biases by which gate bias_adjusted evens loads out.
  std::int64_t parameters = 0;
  /// Those that the products of one token use: of the experts of a layer `choices`, of the rest
  /// all. The token table counts whole, a matrix that is the token table too once.
  std::int64_t active_parameters = 0;
  /// Of a token in training, forward and backward: three times the matrix products of forward, as
  /// MFU counts them (moe/train/STEPS.md), with sequences as long as sequence_length, even routing
  /// and what of it there is capacity for.
  double token_flops = 0;
};

/// Throws as build_iteration().
ModelFigures figures_of(const Model& model);

}  // namespace moe
