#pragma once

#include <vector>

#include "moe/ops/exchange.h"

/// The ops of an AllToAll that goes by a route of several ops (passes/exchange.h). M columns; the
/// rows are those of the tensors' kinds (leg.h).
namespace moe {

/// from[.,M] -> to[.,M] (one slice of each) among the ranks of a node
struct ExchangeInNode {
  static constexpr OpFacts facts =
      collective_op("exchange_in_node", {either(Cut::rows)}, {either(Cut::rows)});
  static constexpr GroupKind group = GroupKind::expert_node;
  Rows from = Rows::sent;
  Rows to = Rows::relayed;
  std::vector<Segment> sends(const RowLayout& layout, Slice slice) const;
  std::vector<Segment> receives(const RowLayout& layout, Slice slice) const;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// from[.,M] -> to[.,M] (one slice of each) among ranks of different nodes
struct ExchangeAcrossNodes {
  static constexpr OpFacts facts =
      collective_op("exchange_across_nodes", {either(Cut::rows)}, {either(Cut::rows)});
  GroupKind group = GroupKind::expert_across;  ///< or expert_leaders
  Rows from = Rows::relayed;
  Rows to = Rows::received;
  std::vector<Segment> sends(const RowLayout& layout, Slice slice) const;
  std::vector<Segment> receives(const RowLayout& layout, Slice slice) const;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// One step of FasterMoE's pairwise exchange (its code): the share of an AllToAll between groups of
/// `ranks_per_group` ranks that are `step` groups apart. In a dispatch group g sends to group g +
/// step, in a combine it sends back to group g - step. Steps after the first also read the rows
/// that earlier steps have written, and add to them.
struct ExchangeStep {
  static constexpr OpFacts facts =
      collective_op("exchange_step", {either(Cut::rows), either(Cut::rows)}, {either(Cut::rows)});
  static constexpr GroupKind group = GroupKind::expert;
  Direction direction = Direction::dispatch;
  int ranks_per_group = 1;
  int step = 0;
  std::vector<Segment> sends(const RowLayout& layout, Slice slice) const;
  std::vector<Segment> receives(const RowLayout& layout, Slice slice) const;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

}  // namespace moe
