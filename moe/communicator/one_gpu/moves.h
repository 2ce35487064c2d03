#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "moe/communicator/collective_call.h"
#include "moe/communicator/collectives/group_nodes.h"
#include "moe/communicator/one_gpu/memory.h"

/// What one rank of a cluster in one GPU does on the device in a call. It reads the memory of the
/// others and writes its own.
namespace moe::one_gpu {

/// What a link carries: the bytes that an algorithm for such a cluster would send, which are often
/// fewer than the device copies (by_node.h).
struct Message {
  int from = 0;  ///< a member
  std::int64_t bytes = 0;
};

/// What a rank does at a time. It begins when the members that it reads have come to the call, in a
/// later phase when they have ended the phase before.
struct Phase {
  std::vector<Copy> copies;
  std::vector<Sum> sums;
  std::uint64_t reads = 0;  ///< a bit for each member whose memory it reads
  std::vector<Message> messages;
};

struct Moves {
  std::vector<Phase> phases;
  std::int64_t sent_bytes = 0;  ///< by this rank to others
};

/// A member among those of its group.
struct Place {
  int rank = 0;
  int size = 1;
  GroupNodes nodes;
};

/// `calls`: the call of each member. Throws std::invalid_argument where they do not fit together.
Moves moves_of(std::span<const collective::Call* const> calls, const Place& place);

}  // namespace moe::one_gpu
