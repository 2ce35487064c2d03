#pragma once

#include <vector>

#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"

/// Ops with which the n ranks of a group that share dense matrices gather their tokens and scatter
/// the results. Each rank has T tokens.
namespace moe {

/// x[T,M] -> gathered[n*T,M], in rank order
struct AllGather {
  static constexpr OpFacts facts =
      collective_op("all_gather", {either(Cut::whole)}, {either(Cut::whole)});
  GroupKind group = GroupKind::tensor;
  Work work(const OpSizes& sizes) const;
  /// A rank sends its tokens to every other rank.
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};
/// partial[n*T,M] -> y[T,M]: this rank's rows of the sum over the ranks
struct ReduceScatter {
  static constexpr OpFacts facts = collective_op("reduce_scatter", {Cut::whole}, {Cut::whole});
  GroupKind group = GroupKind::tensor;
  Work work(const OpSizes& sizes) const;
  /// A rank sends to every other rank the rows of that rank.
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

}  // namespace moe
