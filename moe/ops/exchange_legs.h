#pragma once

#include <vector>

#include "moe/ops/exchange.h"

/// An AllToAll carried out in several ops (passes/exchange.h): M columns, rows by what the tensors' are (leg.h).
namespace moe {

/// from[.,M] -> to[.,M] (one slice of each) among the ranks of a node
struct ExchangeInNode {
  static constexpr OpFacts facts = collective_op("exchange_in_node", {Cut::rows}, {Cut::rows});
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
  static constexpr OpFacts facts = collective_op("exchange_across_nodes", {Cut::rows}, {Cut::rows});
  GroupKind group = GroupKind::expert_across;  ///< or expert_leaders
  Rows from = Rows::relayed;
  Rows to = Rows::received;
  std::vector<Segment> sends(const RowLayout& layout, Slice slice) const;
  std::vector<Segment> receives(const RowLayout& layout, Slice slice) const;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// The share of an AllToAll that groups of `ranks_per_group` ranks a distance of `step` groups apart have with
/// each other: in a dispatch group g sends to group g + step, in a combine it sends back to g - step (FasterMoE;
/// code). Reads, after the first step, what the steps before it have written, and adds to it.
struct ExchangeStep {
  static constexpr OpFacts facts =
      collective_op("exchange_step", {Cut::rows, Cut::rows}, {Cut::rows});
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
