#include "moe/communicator/mpi/peers.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "moe/communicator/mpi/loopback.h"
#include "moe/communicator/mpi/messages.h"
#include "moe/communicator/mpi/transport.h"
#include "moe/communicator/node_name.h"

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

/// By rank: a number that is equal for ranks which exchange messages through shared memory.
std::vector<int> shared_memories(MPI_Comm comm, int rank, int size) {
  MPI_Comm sharers = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &sharers),
            "MPI_Comm_split_type");
  int lowest = rank;
  check_mpi(MPI_Bcast(&lowest, 1, MPI_INT, 0, sharers), "MPI_Bcast");
  check_mpi(MPI_Comm_free(&sharers), "MPI_Comm_free");
  std::vector<int> memories(size);
  check_mpi(MPI_Allgather(&lowest, 1, MPI_INT, memories.data(), 1, MPI_INT, comm), "MPI_Allgather");
  return memories;
}

/// By rank: a number that is equal for ranks whose nodes have equal names.
std::vector<int> named_nodes(MPI_Comm comm, int size) {
  constexpr int longest = 256;
  std::string own = node_name();
  own.resize(longest);
  std::string all(static_cast<std::size_t>(size) * longest, '\0');
  check_mpi(MPI_Allgather(own.data(), longest, MPI_CHAR, all.data(), longest, MPI_CHAR, comm),
            "MPI_Allgather");
  std::map<std::string, int> numbers;
  std::vector<int> nodes;
  for (int rank = 0; rank < size; ++rank) {
    const std::string name = all.substr(static_cast<std::size_t>(rank) * longest, longest);
    nodes.push_back(numbers.emplace(name, static_cast<int>(numbers.size())).first->second);
  }
  return nodes;
}

}  // namespace

std::vector<Peer> peers_of(MPI_Comm comm, const PacedLinks* links) {
  int rank = 0, size = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  // Both sides of a pair must cut alike, even if their environments differ.
  std::int64_t fragment = fragment_between_nodes();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &fragment, 1, MPI_INT64_T, MPI_MIN, comm), "MPI_Allreduce");
  const std::vector<int> memories = shared_memories(comm, rank, size);
  const std::vector<int> nodes = named_nodes(comm, size);
  const bool is_one_machine = std::ranges::count(memories, memories.front()) == size;
  if (is_one_machine) listen_on_loopback_alone();
  std::vector<Peer> peers;
  for (int peer = 0; peer < size; ++peer) {
    const bool near = memories[peer] == memories[rank];
    peers.push_back({nodes[peer], near ? kWholeMessageBytes : fragment});
  }
  if (links == nullptr) return peers;
  std::vector<int> box_nodes(size);
  check_mpi(MPI_Allgather(&links->box().node, 1, MPI_INT, box_nodes.data(), 1, MPI_INT, comm),
            "MPI_Allgather");
  for (int peer = 0; peer < size; ++peer) {
    peers[peer].route = links->route({rank, box_nodes[rank]}, {peer, box_nodes[peer]});
  }
  return peers;
}

}  // namespace moe
