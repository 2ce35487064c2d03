#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/routing.h"

namespace tuner {

/// What the gate of a MoE layer asks for in a micro-batch, whatever its tokens are.
struct GatedLayer {
  moe::RoutedLayer at;
  int experts = 0;
  std::int64_t copies = 0;  ///< that each rank asks for: exactly so many
  int choices = 1;          ///< the most choices of a token
  /// Rows of an expert from each rank at most, in all its capacity groups; where all experts are
  /// full whatever tokens ask for, just so many. None: dropless.
  std::optional<std::int64_t> capacity{};
  int capacity_groups = 1;  ///< of a rank
  bool full = false;        ///< of a gate whose experts choose their tokens, or mix them all

  std::int64_t tokens() const { return copies / choices; }
};

/// Those of a Program without decisions, in its order.
std::vector<GatedLayer> gated_layers(const moe::Program& program);

/// "layer 3", or "layer 3, micro-batch 1"
std::string in_words(moe::RoutedLayer at);

/// Refuses a routing of uneven loads for a gate that fills every expert. `instead`: ", not ...", or
/// "". Throws moe::InputError with the layer and its rows.
[[noreturn]] void refuse_for_full(const std::string& asked, const GatedLayer& layer,
                                  const std::string& instead);

/// Turns the copies that are asked for into those that travel: as many as there is room for.
/// Capacity groups of a rank are taken to ask alike. Throws as refuse_for_full() where all experts
/// are full, and these are not.
void fit_capacity(moe::LayerRouting& routing, const GatedLayer& layer, const std::string& asked);

}  // namespace tuner
