#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// The way by which rows go to their experts and back.
enum class Route : std::uint8_t {
  flat,  ///< every rank sends to every rank, in one op
  /// Hetu's 1DH: to the first rank of the node, between first ranks, then to the ranks of the node.
  one_d,
  /// Tutel's and DeepSpeed's 2DH: inside the node, then between ranks of equal place in their
  /// nodes.
  two_d,
  pairwise,  ///< FasterMoE's: step by step between groups of ranks
};
std::string_view route_name(Route route);

/// Carries out the exchanges of one phase of one MoE layer by a route of several ops.
struct Exchange {
  static constexpr std::string_view name = "exchange";
  static constexpr std::string_view description =
      "sends rows to their experts by a route of several hops";
  static constexpr bool changes_results = false;
  int layer = 0;
  Phase phase = Phase::forward;
  std::optional<Direction> direction;  ///< none: both dispatch and combine
  Route route = Route::flat;
  int ranks_per_group = 0;  ///< the size of a group, only for the pairwise route
  friend auto operator<=>(const Exchange&, const Exchange&) = default;
  static Exchange read(const InputObject& input);
};
void write(nlohmann::json& object, const Exchange& exchange);
/// Dispatch and combine may be decided separately, see check_together.
std::string subject(const Exchange& exchange);

/// Runs after replicate_experts. Each AllToAll becomes, from the source to the expert (a combine
/// goes the other way),
///   one_d     exchange_in_node, exchange_across_nodes between first ranks, exchange_in_node
///   two_d     exchange_in_node, exchange_across_nodes
///   pairwise  an exchange_step for every distance between two groups of ranks
/// with tensors for the rows between legs. pipeline_split cuts all of these ops; assign_stream
/// moves them. Where all ranks of the expert group are on one node, or each is on a node of its
/// own, 1DH and 2DH are flat; so is pairwise with a single group. Every row arrives where it did
/// before, so not a bit changes.
///
/// With a capacity, every rank sets aside as much memory as a first rank needs in 1DH.
///
/// Throws Refusal where the layer exchanges nothing in that phase, where its route is
/// decided already, where the nodes of expert groups do not all have the same number of their
/// ranks, and where ranks_per_group does not divide the expert group.
Program apply(Program program, const Exchange& exchange);

/// Throws Refusal where two decisions of a schedule are about the same exchange.
void check_together(const std::vector<Exchange>& exchanges);

}  // namespace moe
