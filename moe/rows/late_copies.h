#pragma once

#include <compare>
#include <cstdint>

/// Replicas of experts that are chosen after the gate, for one routed layer, from the counts that
/// all ranks have. Facts of public code and papers, in own words.
namespace moe {

/// Among whom the rule evens loads.
enum class LateDomain : std::uint8_t {
  all,
  /// The members of one node, by themselves: parameters and gradients stay inside nodes, and nodes
  /// stay as uneven as they are.  [FEPLB (arXiv 2604.19654), abstract]
  node,
};

enum class LateRule : std::uint8_t {
  /// The least threshold for which a greedy plan brings every member down to it: the fullest member
  /// gives rows of its largest experts to the member with most room. At least one row of an expert
  /// stays at home.  [UltraEP (arXiv 2606.04101), code; by bisection alone]
  ultraep,
  /// Every member computes the same number of rows: the emptiest member is filled from the fullest
  /// home in one go, so it receives from one home alone.  [MoonEP, code]
  moonep,
  /// Experts by rows: the home takes what fits under alpha times the mean; the rest goes to the
  /// least loaded members in chunks that are worth a product. Nothing moves where the fullest
  /// member has less than 1.3 times the mean.  [LLEP (arXiv 2601.17111), code]
  llep,
};

/// Whose slots for replicas a member has.
enum class SlotsOf : std::uint8_t {
  each_layer,
  /// All layers have the same, one after the other. So parameters are sent again before backward,
  /// and gradients go home in the backward phase of their layer.  [UltraEP, code and docs]
  all_layers,
};

struct LateCopies {
  LateRule rule = LateRule::ultraep;
  int slots = 0;                   ///< replicas that a member may hold; 0: none is chosen late
  double alpha = 1.1;              ///< of llep
  std::int64_t least_rows = 1024;  ///< of llep: fewer rows are not worth a product of their own
  LateDomain domain = LateDomain::all;
  SlotsOf slots_of = SlotsOf::each_layer;
  friend auto operator<=>(const LateCopies&, const LateCopies&) = default;
};

}  // namespace moe
