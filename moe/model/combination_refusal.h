#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "moe/model/model.h"

namespace moe {

/// What sub-modules of the mixture of experts cannot be used together.
struct CombinationRefusal {
  std::string_view key;  ///< of [moe]
  std::string message;   ///< values, and what would work
};

/// The first that the model has; none where all goes together, or nothing has experts.
std::optional<CombinationRefusal> combination_refusal(const Model& model);

}  // namespace moe
