#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"
#include "moe/rows/expert_placement.h"

namespace moe {

class InputObject;

/// Computes replicas of some experts of one MoE layer on other ranks of their expert group, for an
/// iteration. [Pro-Prophet's lightweight placement; FasterMoE's shadowing, which replicates on all
/// ranks]
struct ReplicateExperts {
  static constexpr std::string_view name = "replicate_experts";
  static constexpr std::string_view description =
      "computes experts on other ranks as well, for an iteration";
  static constexpr bool changes_results = false;
  int layer = 0;
  ExpertPlacement placement;  ///< without homes, which place_experts decides
  friend auto operator<=>(const ReplicateExperts&, const ReplicateExperts&) = default;
  static ReplicateExperts read(const InputObject& input);
};
void write(nlohmann::json& object, const ReplicateExperts& replicating);
std::string subject(const ReplicateExperts& replicating);

/// Runs after place_experts, before the decisions that change or cut exchanges. It adds
///   send_experts       sends parameters to the holders of replicas (Trans), before routed rows
///   return_gradients   sends gradients of replicas home (Agg), after the backward phase; both by
///                      the placement's route
///   add_returned       adds them to the gradients at home, before gradients are reduced
/// and makes every expert op compute the replicas of its rank too, on rows that lie after those of
/// the rank's own experts (row_layout.h). Every rank has the same number of slots for replicas. A
/// rank computes its own rows for an expert that it holds. Parameters, optimizer states and updates
/// stay at home.
///
/// Where replicas are chosen after the gate (ExpertPlacement::late), there is one of each of these
/// ops for every micro-batch, with replicas of its own, and they wait for its exchange of counts.
/// Gradients come home on rings, so a home gets one for each of its experts. Where all layers have
/// the same slots (SlotsOf::all_layers), there is one more send_experts where the layer's backward
/// phase begins; return_gradients comes behind its last exchange of rows, add_returned at its end.
/// So replicas of one layer alone are in use at a time, and memory plans give the next layer's the
/// same bytes. Gradients of micro-batches are then added in another order.
///
/// Each row is computed as before; the gradient of a replicated expert is a sum over the same rows
/// in another order. With a capacity, every rank sets aside memory for the rows that its replicas
/// may receive.
///
/// Throws Refusal where the layer has no experts, or replicas already, where an
/// expert group is one rank, where nothing is replicated, where an expert does not exist or they do
/// not ascend, where its holders are not other members of the group in ascending order, where the
/// placement has homes, where there are more slots than experts of other ranks, and where rows that
/// are padded are to be balanced.
Program apply(Program program, const ReplicateExperts& replicating);

}  // namespace moe
