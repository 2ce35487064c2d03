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

/// How rows go to their experts and back.
enum class Route : std::uint8_t {
  flat,   ///< each rank to each, in one op
  one_d,  ///< Hetu's 1DH: to the first rank of the node, among first ranks, to the ranks of the node
  two_d,  ///< Tutel's and DeepSpeed's 2DH: in the node, then among ranks of equal place in their nodes
  pairwise,  ///< FasterMoE's: step by step between groups of ranks
};
std::string_view route_name(Route route);

/// Carry out the exchanges of one phase of one MoE layer by a route of several ops.
struct Exchange {
  static constexpr std::string_view name = "exchange";
  static constexpr bool changes_results = false;
  int layer = 0;
  Phase phase = Phase::forward;
  std::optional<Direction> direction;  ///< none: dispatch and combine
  Route route = Route::flat;
  int ranks_per_group = 0;  ///< of pairwise alone
  friend auto operator<=>(const Exchange&, const Exchange&) = default;
  static Exchange read(const InputObject& input);
};
void write(nlohmann::json& object, const Exchange& exchange);
/// Dispatch and combine may be decided apart: check_together.
std::string subject(const Exchange& exchange);

/// Runs behind replicate_experts. Each AllToAll becomes, from the source to the expert (a combine goes the other way),
///   one_d     exchange_in_node, exchange_across_nodes among first ranks, exchange_in_node
///   two_d     exchange_in_node, exchange_across_nodes
///   pairwise  an exchange_step for every distance between two groups of ranks
/// with tensors for the rows on their way; pipeline_split cuts all of them, assign_stream moves them. Where all
/// ranks of the expert group are on one node, or each on a node of its own, 1DH and 2DH are flat, and so is
/// pairwise in a single group. Every row arrives where it did, so not a bit changes.
///
/// With a capacity, every rank sets aside what a first rank needs in 1DH.
///
/// Throws std::invalid_argument where the layer exchanges nothing in that phase or its exchange is decided
/// already, where an expert group has more ranks on one node than on another or expert groups differ in that,
/// and where ranks_per_group does not divide the expert group.
Program apply(Program program, const Exchange& exchange);

/// Throws std::invalid_argument where two of a schedule decide the same exchange.
void check_together(const std::vector<Exchange>& exchanges);

}  // namespace moe
