#pragma once

#include <array>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// For each op, ascending, what must have ended before it may start: its dependencies, and for an op
/// on routed rows the exchange that tells how many there are.
std::vector<std::vector<int>> waits_for(const Program& program);

/// By stream: so many ops of its queue, its first ones, have certainly ended.
using StreamProgress = std::array<int, kStreamCount>;

/// When an op may start, on every rank alike: once it is the first of its stream's queue, everything
/// before it in that queue has ended, and every op that it waits for has. `run` and `simulate` let
/// ops go by this rule, the memory plan and the lower bound reason with it.
struct StartRule {
  /// Ops of each stream in issue order, which is the order of the Program's list.
  std::array<std::vector<int>, kStreamCount> queues;
  std::vector<std::vector<int>> waits_for;  ///< by op

  /// For each op, how far every stream has certainly come when it starts: the place in that
  /// stream's queue of the last op known to have ended, plus one.
  std::vector<StreamProgress> progress;
  std::vector<int> place;      ///< by op: in the queue of its stream
  std::vector<Stream> stream;  ///< by op
};

StartRule start_rule(const Program& program);

/// True when `earlier` has ended whenever `op` starts.
bool ends_before(const StartRule& rule, int earlier, int op);

/// What is routed, in the order in which it becomes known.
std::vector<RoutedLayer> routed_layers(const Program& program);

}  // namespace moe
