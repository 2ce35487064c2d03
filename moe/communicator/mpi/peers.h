#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "moe/communicator/mpi/c_interface.h"
#include "moe/communicator/paced_links.h"

namespace moe {

/// The longest message handed to MPI at once, because MPI counts in int. For ranks that need no
/// fragments.
inline constexpr std::int64_t kWholeMessageBytes = std::int64_t{1} << 30;

/// What a rank has to know of another one to exchange messages with it.
struct Peer {
  /// Its node: a number that is equal for ranks with equal names of their nodes (node_name.h).
  int node = 0;
  /// Bytes of the fragments in which messages to it are sent, the same on both sides.
  /// kWholeMessageBytes where MPI uses shared memory, and wherever MPI is not Open MPI over TCP.
  /// Elsewhere at most the eager limit in force (transport.h says why).
  std::int64_t fragment_bytes = kWholeMessageBytes;
  /// How messages go to it; none where nothing slows them down.
  std::optional<PacedRoute> route{};
};

/// By rank of `comm`. `links`: those of the paced box; nullptr outside of one. Every rank of `comm`
/// calls it.
std::vector<Peer> peers_of(MPI_Comm comm, const PacedLinks* links);

}  // namespace moe
