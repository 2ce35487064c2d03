#pragma once

#include <cstdint>

#include "moe/communicator/communicator.h"
#include "moe/program/expert_placement.h"
#include "moe/program/program.h"
#include "moe/run/runner.h"

/// Moving experts between ranks for good, between two iterations (passes/place_experts.h).
namespace moe {

/// What one expert of a MoE layer, or a rank's share of it, takes with it: parameters and optimizer states.
struct ExpertState {
  std::int64_t bytes = 0;
  int tensors = 0;  ///< that it is a block of: each a message
};
ExpertState expert_state(const Program& program, int layer);

/// How much changes ranks, over all groups and ranks that share experts.
struct ExpertTraffic {
  int experts = 0;  ///< that change their home, of all layers
  std::int64_t bytes = 0;
};
/// From the homes that the Program has to others.
ExpertTraffic expert_traffic(const Program& program, const HomesByLayer& to);

/// Brings parameters and optimizer states of experts to other homes than those of runner.whole(); the Program that comes
/// next must have these. Gradients stay: the next iteration writes them anew. Tensor by tensor through the host's memory, one call
/// of the expert group for each that anything moves of. Collective over `world`. Throws as expert_slots and Communicator.
void move_experts(Runner& runner, const HomesByLayer& to, Communicator& world, double time_limit_s);

}  // namespace moe
