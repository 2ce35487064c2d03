#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "moe/rows/late_copies.h"

/// The ranks that compute each expert of a MoE layer. Every expert has a **home**, the rank that
/// keeps its parameters and its optimizer state; other ranks may compute **replicas** of it for an
/// iteration. Ranks are counted as members of an expert group, and every expert group of a layout
/// has the same placement.
namespace moe {

/// An expert of which other members of the group hold a replica. For an iteration they have its
/// parameters too; its optimizer state stays at its home (Pro-Prophet's lightweight placement).
struct ReplicatedExpert {
  int expert = 0;
  std::vector<int> holders;  ///< members that hold a replica, ascending, without the home
  friend auto operator<=>(const ReplicatedExpert&, const ReplicatedExpert&) = default;
};

/// The destination of a member's rows for a replicated expert that it does not hold itself. A
/// member that holds the expert, or a replica of it, computes its own rows, unless rows are
/// balanced.
enum class RowsOfOthers {
  home,    ///< to the home of the expert (Pro-Prophet, FasterMoE)
  spread,  ///< source by source to the home and the holders in turn, the home first (EPLB)
  /// After the gate, whatever the source: the home and the holders share out all rows of the expert
  /// so that the fullest member computes as few rows as can be (LPLB, MicroMoE; balanced_quotas.h).
  balanced,
};

/// The solver of the linear program of RowsOfOthers::balanced.
enum class BalancedBy : std::uint8_t {
  optimum,         ///< exact, in whole rows (balanced_quotas.h)
  interior_point,  ///< LPLB's own five steps (interior_point_quotas.h)
};

/// The way of a replicated expert's parameters to its holders, and of their gradients home.
enum class ExpertRoute {
  unicast,  ///< straight from the home to each holder, and back
  /// From member to member: the home, then the holders in the order in which they follow it, the
  /// first member after the last. Each passes on what arrives while the rest travels, so an expert
  /// enters and leaves a member once, however many hold it. Gradients come back the same way, and
  /// each member adds its own. (The broadcast and the reduce of Pro-Prophet and FasterMoE, as a
  /// pipelined ring.)
  ring,
};
inline constexpr int kExpertRoutes = 2;

/// [expert]: its home. Every member is the home of as many experts as in order
/// (db/experts_in_order.h). Empty: the experts are in order.
using ExpertHomes = std::vector<int>;
/// The homes of several MoE layers, by layer. In a layer that is absent the experts are in order.
using HomesByLayer = std::map<int, ExpertHomes>;

struct ExpertPlacement {
  std::vector<ReplicatedExpert> replicas;  ///< ascending by expert, each expert at most once
  RowsOfOthers rows_of_others = RowsOfOthers::home;
  ExpertHomes homes = {};
  ExpertRoute route = ExpertRoute::unicast;
  /// Replicas that are chosen after the gate, in place of `replicas`; rows are balanced.
  LateCopies late = {};
  BalancedBy balanced_by = BalancedBy::optimum;
  friend auto operator<=>(const ExpertPlacement&, const ExpertPlacement&) = default;
};

inline bool is_late(const ExpertPlacement& placement) { return placement.late.slots > 0; }
/// Whether the rows of one source for an expert may go to several members.
inline bool shares_rows_out(const ExpertPlacement& placement) {
  return placement.rows_of_others == RowsOfOthers::balanced || is_late(placement);
}
/// Whether members compute experts that are not at home there.
inline bool has_replicas(const ExpertPlacement& placement) {
  return !placement.replicas.empty() || is_late(placement);
}

}  // namespace moe
