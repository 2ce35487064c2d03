#pragma once

#include <cstdint>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/expert_moves.h"
#include "moe/rows/expert_placement.h"

/// The tensors that move when an expert gets another home for good (passes/place_experts.h).
namespace moe {

/// The tensors of a parameter that move with an expert: its value, then its optimizer states.
std::vector<TensorId> tensors_that_move(const Parameter& parameter);

/// The moves that bring the experts of MoE layer `layer` from one assignment of homes to another,
/// in an expert group of `members` ranks.
std::vector<ExpertMove> moves_to_homes(const HomesByLayer& from, const HomesByLayer& to, int layer,
                                       int members);

/// The size of the parameters and optimizer states of one expert of a MoE layer, or of a rank's
/// share of it (esp).
struct ExpertState {
  std::int64_t bytes = 0;
  int tensors = 0;  ///< number of tensors; each is sent as a message of its own
};
ExpertState expert_state(const Program& program, int layer);

/// The amount sent when experts move, summed over all expert groups and ranks that share experts.
struct ExpertTraffic {
  int experts = 0;  ///< experts that get another home, over all layers
  std::int64_t bytes = 0;
};
/// The traffic of moving the experts from the homes of the Program to others.
ExpertTraffic expert_traffic(const Program& program, const HomesByLayer& to);

}  // namespace moe
