#pragma once

#include <cstdint>
#include <vector>

#include "moe/communicator/mpi/c_interface.h"

namespace moe {

/// The longest message handed to MPI at once (MPI counts in int): where pieces bring nothing.
inline constexpr std::int64_t kWholeMessageBytes = std::int64_t{1} << 30;

/// By rank of `comm`: bytes of the pieces in which messages to that rank are sent, alike on both
/// sides. kWholeMessageBytes to ranks of the same node and where MPI is not Open MPI over TCP.
/// Elsewhere at most the eager limit in force (transport.h says why). Collective over `comm`.
std::vector<std::int64_t> piece_bytes_by_rank(MPI_Comm comm);

}  // namespace moe
