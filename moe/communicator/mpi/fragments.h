#pragma once

#include <cstdint>
#include <vector>

#include "moe/communicator/mpi/c_interface.h"

namespace moe {

/// The longest message handed to MPI at once, because MPI counts in int. For ranks that need no
/// fragments.
inline constexpr std::int64_t kWholeMessageBytes = std::int64_t{1} << 30;

/// By rank of `comm`: bytes of the fragments in which messages to that rank are sent, the same on
/// both sides. kWholeMessageBytes to ranks of the same node, and wherever MPI is not Open MPI over
/// TCP. Elsewhere at most the eager limit in force (transport.h says why). Every rank of `comm`
/// calls it.
std::vector<std::int64_t> fragment_bytes_by_rank(MPI_Comm comm);

}  // namespace moe
