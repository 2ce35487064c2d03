#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/communicator/collective_call.h"

/// The messages of a call along chains, the same for every communicator that sends them.
namespace moe {

/// Elements that a rank sends or receives together.
struct ChainFragment {
  std::size_t chain = 0;  ///< of the call's chains on this rank
  std::int64_t begin = 0, count = 0;
  /// When it travels: in the step after that in which it came, or at the root (a broadcast) or the
  /// last rank (a reduce) when its turn is. Both sides name the same step. From 1 - ranks on.
  int step = 0;
};

/// What this rank sends and receives, by step, then chain. Both sides of a connection list the same
/// fragments, and no fragment comes before one that it waits for: so ranks that work through their
/// lists never wait for each other in a circle. A fragment that a rank passes on has the same place
/// among those that it passes on in both lists.
struct ChainMessages {
  std::vector<ChainFragment> sends, receives;
};
ChainMessages chain_messages(const collective::ChainBroadcast& call);
ChainMessages chain_messages(const collective::ChainReduce& call);

}  // namespace moe
