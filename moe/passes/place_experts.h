#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"
#include "moe/rows/expert_placement.h"

namespace moe {

class InputObject;

/// Let the experts of one MoE layer belong to other ranks of their expert group than in order: from the iteration on
/// that the schedule begins to rule, with parameters and optimizer state. [SmartMoE's expert placement; EPLB's physical one]
struct PlaceExperts {
  static constexpr std::string_view name = "place_experts";
  static constexpr bool changes_results = false;
  int layer = 0;
  ExpertHomes homes;  ///< of every expert a member of its group, as many experts for each
  friend auto operator<=>(const PlaceExperts&, const PlaceExperts&) = default;
  static PlaceExperts read(const InputObject& input);
};
void write(nlohmann::json& object, const PlaceExperts& placing);
std::string subject(const PlaceExperts& placing);

/// Runs first: whatever goes by where experts are, replicas above all, goes by Program::homes. Ops and sizes stay as they
/// are: every rank has as many experts as before, ascending, and a parameter's Shard says which. So each expert
/// computes the same rows in the same order, and no bit of the results changes; in a Program that begins so, parameters
/// are initialized where they are, and between iterations a training moves them (train/move_experts.h).
///
/// All expert groups of a layout do alike, and so do the ranks that share experts: esp, tp, dp and pp are free. Homes in
/// order leave the Program as it is.
///
/// Throws std::invalid_argument where the layer has no experts, or replicas already, where an expert group is one rank,
/// and where a home is missing or not there, or a rank is the home of more experts than another.
Program apply(Program program, const PlaceExperts& placing);

}  // namespace moe
