#pragma once

#include <cstdint>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/expert_moves.h"
#include "moe/rows/expert_placement.h"

/// What an expert takes with it when it changes its home for good (passes/place_experts.h).
namespace moe {

/// The tensors of a parameter of experts that move with an expert: its value, then its optimizer states.
std::vector<TensorId> tensors_that_move(const Parameter& parameter);

/// The moves that bring the experts of MoE layer `layer` from one assignment of homes to another, in an expert group of
/// `members` ranks.
std::vector<ExpertMove> moves_to_homes(const HomesByLayer& from, const HomesByLayer& to, int layer,
                                       int members);

/// What one expert of a MoE layer, or a rank's share of it, takes with it: parameters and optimizer states.
struct ExpertState {
  std::int64_t bytes = 0;
  int tensors = 0;  ///< each is sent as a message of its own
};
ExpertState expert_state(const Program& program, int layer);

/// How much changes ranks, summed over all groups and all ranks that share experts.
struct ExpertTraffic {
  int experts = 0;  ///< that change their home, of all layers
  std::int64_t bytes = 0;
};
/// From the homes that the Program has to others.
ExpertTraffic expert_traffic(const Program& program, const HomesByLayer& to);

}  // namespace moe
