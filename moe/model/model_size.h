#pragma once

#include "moe/model/model.h"

namespace moe {

/// Elements that the model has, roughly (no biases, no norms), in double: they may be more than any integer.
struct ModelSize {
  double parameters = 0;
  double activations = 0;  ///< that an iteration over the global batch keeps for backward
};

ModelSize model_size(const Model& model);

}  // namespace moe
