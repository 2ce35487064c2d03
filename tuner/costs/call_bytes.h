#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/row_handling.h"
#include "moe/rows/binding.h"
#include "moe/rows/groups.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// What was worked out already of one layer's calls.
struct KnownOfLayer {
  /// Where ranks send the same row, the bytes of dispatches in every group: a combine of the same
  /// slice brings the same rows back. [member], by the slice and the bytes of a row.
  std::map<std::tuple<int, int, int, std::int64_t>, std::vector<std::int64_t>> dispatches;
  /// And those from a rank to each other that shares its experts, by its class in the layer, the
  /// slice and the bytes of a row.
  std::map<std::tuple<int, int, int, int, std::int64_t>, std::int64_t> to_sharers;
  std::map<int, moe::Binding> bindings;  ///< [rank], of a few ranks
  /// Calls that pass on as many bytes, by the groups, the first member, the bytes and the rings.
  std::map<std::tuple<moe::GroupKind, int, std::int64_t, int>, GroupCall> rings;
};

/// What the bytes of a collective op depend on.
struct CallSituation {
  const moe::Program& program;
  const moe::Op& op;
  const moe::Groups& groups;
  const RankClasses& classes;
  const moe::RoutedRows* layer = nullptr;  ///< whose rows the op moves; null for fixed rows
  /// classes_in_layer() of a layer whose ranks send the same row; else null.
  const std::vector<int>* in_layer = nullptr;
  KnownOfLayer& known;
  /// As NCCL has: as many rings as a node has ranks in the call, of which each leaves every node by
  /// another card. All-gathers and reduce-scatters between nodes are rings, too.
  bool rings_use_all_cards = false;
  /// As its rings on a mesh: they take turns, so that each pair of a node carries an equal part.
  bool rings_use_all_pairs = false;
};

/// Writes the bytes of a call into it. `members`: the ranks of one such call. Bytes are worked out
/// for one rank where all send alike: all of an all-gather or of a ring, and the dispatch of ranks
/// that send the same row. There are pairs of ranks up to Folding::most_pairs, and for calls in
/// which each rank sends to few others.
void count_bytes(const CallSituation& situation, const std::vector<int>& members,
                 const Folding& folding, GroupCall& call);

}  // namespace tuner
