#pragma once

#include <compare>
#include <map>
#include <vector>

/// Who computes which expert of a MoE layer, where that is not its own rank alone. Ranks are counted as members of
/// an expert group; every group of a layout does alike.
namespace moe {

/// An expert that other members of the group compute beside the one that it belongs to: for an iteration they have
/// its parameters, its optimizer state stays where it is (Pro-Prophet's lightweight placement).
struct ReplicatedExpert {
  int expert = 0;
  std::vector<int> holders;  ///< ascending, without the member that the expert belongs to
  friend auto operator<=>(const ReplicatedExpert&, const ReplicatedExpert&) = default;
};

/// Where a member sends its rows for a replicated expert that it does not hold itself. One that holds it computes
/// its own rows.
enum class RowsOfOthers {
  home,    ///< to the member that the expert belongs to (Pro-Prophet, FasterMoE)
  spread,  ///< in turns to all that hold it, the one that it belongs to first (EPLB)
};

/// [expert]: the member that it belongs to, which has its parameters and optimizer state: as many experts for each.
/// Empty: in order, expert e of D per member to member e / D.
using ExpertHomes = std::vector<int>;
/// Of MoE layers; one that is absent has its experts in order.
using HomesByLayer = std::map<int, ExpertHomes>;

struct ExpertPlacement {
  std::vector<ReplicatedExpert> replicas;  ///< by expert, ascending; each at most once
  RowsOfOthers rows_of_others = RowsOfOthers::home;
  ExpertHomes homes = {};
  friend auto operator<=>(const ExpertPlacement&, const ExpertPlacement&) = default;
};

}  // namespace moe
