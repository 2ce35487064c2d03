#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"
#include "moe/rows/expert_placement.h"

namespace moe {

class InputObject;

/// Compute some experts of one MoE layer on other ranks of their expert group beside their own, for an iteration.
///                                       [Pro-Prophet's lightweight placement; FasterMoE's shadowing: on all ranks]
struct ReplicateExperts {
  static constexpr std::string_view name = "replicate_experts";
  static constexpr bool changes_results = false;
  int layer = 0;
  ExpertPlacement placement;  ///< without homes: those that place_experts gave the layer hold
  friend auto operator<=>(const ReplicateExperts&, const ReplicateExperts&) = default;
  static ReplicateExperts read(const InputObject& input);
};
void write(nlohmann::json& object, const ReplicateExperts& replicating);
std::string subject(const ReplicateExperts& replicating);

/// Runs behind place_experts, before what makes ops of exchanges and what cuts them. Adds to the layer
///   send_experts       parameters to the ranks that compute them (Trans), before the layer's first routed rows
///   return_gradients   gradients of their copies home (Agg), behind all of backward
///   add_returned       them to those worked out there, before gradients are reduced
/// and to every expert op the replicas of its rank: experts that it computes for others, on rows that lie behind those of
/// its own (row_layout.h). Every rank has room for as many replicas as any has. A rank's rows for an expert that it has
/// stay where they are; parameters, optimizer state and what they are updated with stay where they were.
///
/// Each row is computed as it was; gradients of a replicated expert are sums over the same rows in another order. With
/// a capacity, every rank sets aside what it may receive so.
///
/// Throws std::invalid_argument where the layer has no experts, or replicas already, where an expert group is one rank,
/// and where nothing is replicated, an expert is not there or not in order, its holders are not others of the
/// group in order, or the placement has homes.
Program apply(Program program, const ReplicateExperts& replicating);

}  // namespace moe
