#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "moe/model/model.h"

namespace moe {

/// Why sub-modules of the MoE layer cannot be used together.
struct CombinationRefusal {
  std::string_view key;  ///< a key of the table [moe]
  std::string message;   ///< values, and what would work
};

/// The first reason there is; none where all goes together, or no block has experts.
std::optional<CombinationRefusal> combination_refusal(const Model& model);

}  // namespace moe
