#include "moe/communicator/mpi/fragments.h"

#include <algorithm>
#include <array>
#include <optional>

#include "moe/communicator/mpi/messages.h"
#include "moe/communicator/mpi/transport.h"

namespace moe {
namespace {

/// If a user's eager limit is below this, handshakes cost less than so many messages.
constexpr std::int64_t kSmallestFragmentBytes = std::int64_t{16} << 10;

/// MPI's control variable of this name as a number; none where there is no such variable.
std::optional<std::int64_t> control_variable(const char* name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return std::nullopt;
  MPI_T_cvar_handle handle = nullptr;
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return std::nullopt;
  std::optional<std::int64_t> value;
  std::array<unsigned long long, 1> number{};
  if (count == 1 && MPI_T_cvar_read(handle, number.data()) == MPI_SUCCESS) {
    value = static_cast<std::int64_t>(number[0]);
  }
  MPI_T_cvar_handle_free(&handle);
  return value;
}

/// Open MPI closes the components that it does not use, and their variables go with them: those
/// of its point-to-point layer and of its TCP transport are there where both are in use.
std::int64_t fragment_between_nodes() {
  int level = 0;
  if (MPI_T_init_thread(MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) return kWholeMessageBytes;
  const bool own_layer = control_variable("pml_ob1_free_list_num").has_value();
  const auto eager_limit = control_variable("btl_tcp_eager_limit");
  MPI_T_finalize();
  if (!own_layer || !eager_limit) return kWholeMessageBytes;
  return std::clamp(*eager_limit - kMpiHeaderBytes, kSmallestFragmentBytes, kEagerFragmentBytes);
}

}  // namespace

std::vector<std::int64_t> fragment_bytes_by_rank(MPI_Comm comm) {
  int rank = 0, size = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  // Both sides of a pair must cut alike, even if their environments differ.
  std::int64_t fragment = fragment_between_nodes();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &fragment, 1, MPI_INT64_T, MPI_MIN, comm), "MPI_Allreduce");
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  // The lowest rank of each node represents the node.
  int lowest = rank;
  check_mpi(MPI_Bcast(&lowest, 1, MPI_INT, 0, node), "MPI_Bcast");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  std::vector<int> nodes(size);
  check_mpi(MPI_Allgather(&lowest, 1, MPI_INT, nodes.data(), 1, MPI_INT, comm), "MPI_Allgather");
  std::vector<std::int64_t> fragments(size, fragment);
  for (int peer = 0; peer < size; ++peer) {
    if (nodes[peer] == nodes[rank]) fragments[peer] = kWholeMessageBytes;
  }
  return fragments;
}

}  // namespace moe
