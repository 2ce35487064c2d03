#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"
#include "moe/rows/expert_placement.h"

namespace moe {

class InputObject;

/// Gives the experts of one MoE layer other homes in their expert group, with their parameters and
/// optimizer states, from the first iteration of the schedule on.  [SmartMoE's expert placement;
/// EPLB's physical one]
struct PlaceExperts {
  static constexpr std::string_view name = "place_experts";
  static constexpr std::string_view description =
      "makes other ranks the homes of experts, optimizer state included";
  static constexpr bool changes_results = false;
  int layer = 0;
  ExpertHomes homes;  ///< [expert]: a member of its group; every member keeps its number of experts
  friend auto operator<=>(const PlaceExperts&, const PlaceExperts&) = default;
  static PlaceExperts read(const InputObject& input);
};
void write(nlohmann::json& object, const PlaceExperts& placing);
std::string subject(const PlaceExperts& placing);

/// Runs first, since other decisions (replicas above all) depend on Program::homes. Ops and sizes
/// do not change: every rank has as many experts as before, ascending, and the Shard of a parameter
/// says which. Each expert computes the same rows in the same order, so no bit of the results
/// changes. In the first schedule of a training, parameters are initialized at these homes; between
/// iterations the trainer moves them (train/move_experts.h).
///
/// All expert groups of a layout, and all ranks that share experts, have the same homes; dp, esp,
/// tp and pp may have any degree. Homes in order leave the Program as it is.
///
/// Throws Refusal where the layer has no experts, or replicas already, where an
/// expert group is one rank, where a home is missing or is not a member, and where a rank is the
/// home of more or fewer experts than in order.
Program apply(Program program, const PlaceExperts& placing);

}  // namespace moe
