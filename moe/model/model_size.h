#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "moe/model/model.h"

namespace moe {

/// How many elements the model has, roughly: without biases and norms. In double, as they may
/// exceed any integer.
struct ModelSize {
  double parameters = 0;
  double activations = 0;  ///< elements that an iteration over the global batch keeps for backward
  double masks = 0;        ///< the masks of order einsum among them, token x slot
};

/// The batch is cut into `parts` equal parts, one for each rank of a stage and micro-batch: masks
/// and slots grow with the size of a part.
ModelSize model_size(const Model& model, std::int64_t parts);

/// Why the model is larger than anybody can mean (limits.h), and what to lower: "1e+18 parameters
/// are more than 1e+17: lower experts, ...". Nothing where it is not.
std::optional<std::string> size_refusal(const Model& model, std::int64_t parts);

/// Why an iteration in so many micro-batches would have too many ops (kMostPasses), and how many
/// micro-batches it may have. Nothing where it would not.
std::optional<std::string> passes_refusal(const Model& model);

}  // namespace moe
