#include <array>
#include <vector>

#include "moe/communicator/mpi_collectives.h"
#include "moe/communicator/reduce_pieces.h"
#include "moe/communicator/sum.h"

namespace moe {

void mpi_reduce_scatter(MpiGroup& group, const void* from, void* to, std::int64_t count_per_rank,
                        DType dtype, const CallContext& call) {
  const int n = group.size();
  const int element = bytes_of(dtype);
  const std::int64_t piece = std::min(count_per_rank, reduce_piece_count(n, dtype));
  const auto* blocks = static_cast<const std::byte*>(from);
  // Outlives the messages, which receive into it.
  std::array<std::vector<std::byte>, 2> scratch;
  for (auto& pieces : scratch) pieces.resize(n * piece * element);
  MpiMessages messages(group, call, "reduce_scatter");
  if (count_per_rank == 0) return;

  const auto post = [&](std::int64_t begin) {
    const std::int64_t bytes = std::min(piece, count_per_rank - begin) * element;
    auto& pieces = scratch[begin / piece % 2];
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + n - step) % n;
      messages.receive(pieces.data() + peer * piece * element, bytes, peer);
    }
    const int receives_end = messages.posted();
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + step) % n;
      messages.send(blocks + (peer * count_per_rank + begin) * element, bytes, peer);
    }
    return receives_end;
  };

  std::vector<const void*> parts(n);
  int first_request = 0;
  int receives_end = post(0);
  for (std::int64_t begin = 0; begin < count_per_rank; begin += piece) {
    int next_first = messages.posted(), next_end = next_first;
    if (begin + piece < count_per_rank) next_end = post(begin + piece);
    messages.wait(first_request, receives_end);
    for (int peer = 0; peer < n; ++peer) {
      parts[peer] = scratch[begin / piece % 2].data() + peer * piece * element;
    }
    parts[group.rank] = blocks + (group.rank * count_per_rank + begin) * element;
    sum_in_order(parts, static_cast<std::byte*>(to) + begin * element,
                 std::min(piece, count_per_rank - begin), dtype);
    first_request = next_first;
    receives_end = next_end;
  }
  messages.wait_all();
}

}  // namespace moe
