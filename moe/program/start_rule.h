#pragma once

#include <array>
#include <vector>

#include "moe/program/program.h"

namespace moe {

/// For each op, the ops that must have ended before it may start, ascending: its dependencies and,
/// for an op on routed rows, the exchange of counts that tells how many rows there are.
std::vector<std::vector<int>> waits_for(const Program& program);

/// [stream]: how many ops at the front of its queue have ended for certain.
using StreamProgress = std::array<int, kStreamCount>;

/// An op may start, on every rank alike, when every op before it in the queue of its stream has
/// ended, and every op that it waits for. `run` and `simulate` start ops by this rule; the memory
/// plan and the lower bound rely on it.
struct StartRule {
  /// [stream]: its ops in issue order, which is the order of the Program's list.
  std::array<std::vector<int>, kStreamCount> queues;
  std::vector<std::vector<int>> waits_for;  ///< [op]

  /// [op]: how far every stream has come for certain when the op starts.
  std::vector<StreamProgress> progress;
  std::vector<int> place;      ///< [op]: its place in the queue of its stream
  std::vector<Stream> stream;  ///< [op]
};

StartRule start_rule(const Program& program);

/// True where `earlier` has always ended when `op` starts.
bool ends_before(const StartRule& rule, int earlier, int op);

}  // namespace moe
