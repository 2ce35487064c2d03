#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "moe/model/model.h"

namespace moe {

/// Elements that the model has, roughly (no biases, no norms), in double: they may be more than any integer.
struct ModelSize {
  double parameters = 0;
  double activations = 0;  ///< that an iteration over the global batch keeps for backward
  double masks = 0;        ///< of the activations: token x slot, of order einsum
};

/// Of a batch in `parts` equal parts, one for every rank of a stage and micro-batch: masks and slots grow with what a
/// part has of it.
ModelSize model_size(const Model& model, std::int64_t parts);

/// What the model has more of than anybody can mean (limits.h), and what to lower: "1e+14 parameters are more than
/// 1e+13: lower experts, ...". Nothing where it has not.
std::optional<std::string> size_refusal(const Model& model, std::int64_t parts);

/// Why an iteration in so many micro-batches would have more ops than anybody can mean (kMostPasses), and how many it
/// may have. Nothing where it would not.
std::optional<std::string> passes_refusal(const Model& model);

}  // namespace moe
