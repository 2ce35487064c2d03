#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "db/records.h"

namespace db {

/// How often experts were chosen, as other programs wrote it.
struct RoutingCounts {
  /// By iteration, layer and rank, a load of each expert; run_id stays 0 and micro_batch -1.
  std::vector<Load> loads;
  int experts = 0;
  std::optional<int> choices;        ///< of a token; none where the file does not say
  std::vector<std::string> remarks;  ///< what was left out or added up, for a person
};

/// Reads one of
///   [[per expert ...], per MoE layer ...], counts as EPLB takes them, of layers from 0 on;
///   CSV with the columns layer, expert and count, in any order, and rank and step where there are
///     several;
///   JSON lines {"layer": 3, "top_indices": [[5, 1], per token ...]} with "step", "rank" and
///     "block" where there are several, as Megatron-LM's --moe-routing-trace-path writes them
///     [Megatron-LM, megatron/core/transformer/moe/router_trace.py]: the choices of each token.
///     Records of one step, layer and rank are added up; layers of block "mtp" are left out.
/// `experts`: how many there are, where the last ones may not have been chosen; none: as the file
/// has, which then must name half of them or more. Throws Error (invalid) with the line for what is
/// none of these, for a layer whose counts are all 0, and for layers that differ in their ranks.
RoutingCounts read_routing_counts(std::istream& file, const std::string& name,
                                  std::optional<int> experts = {});

}  // namespace db
