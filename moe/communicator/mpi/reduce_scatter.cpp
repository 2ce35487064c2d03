#include <vector>

#include "moe/communicator/mpi/collectives.h"
#include "moe/communicator/mpi/reduce_pieces.h"
#include "moe/communicator/sum.h"

namespace moe {

void mpi_reduce_scatter(MpiGroup& group, const void* from, void* to, std::int64_t count_per_rank,
                        DType dtype, const CallContext& call) {
  const int n = group.size();
  const int element = bytes_of(dtype);
  const std::int64_t piece = std::min(count_per_rank, reduce_piece_count(n, dtype));
  const auto* blocks = static_cast<const std::byte*>(from);
  const std::int64_t pieces = piece == 0 ? 0 : (count_per_rank + piece - 1) / piece;
  const std::int64_t under_way = std::min<std::int64_t>(pieces, kReducePiecesUnderWay);
  std::byte* scratch = reduce_scratch(group, under_way * n * piece * element);
  const auto received = [&](std::int64_t i, int peer) {
    return scratch + (i % under_way * n + peer) * piece * element;
  };
  MpiMessages messages(group, call, "reduce_scatter");
  const auto count_of = [&](std::int64_t i) { return std::min(piece, count_per_rank - i * piece); };
  struct Posted {
    int begin, receives_end;
  };
  std::vector<Posted> posted;
  const auto post = [&](std::int64_t i) {
    const int begin = messages.posted();
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + n - step) % n;
      messages.receive(received(i, peer), count_of(i) * element, peer);
    }
    posted.push_back({begin, messages.posted()});
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + step) % n;
      messages.send(blocks + (peer * count_per_rank + i * piece) * element, count_of(i) * element,
                    peer);
    }
  };

  for (std::int64_t i = 0; i < under_way; ++i) post(i);
  std::vector<const void*> parts(n);
  for (std::int64_t i = 0; i < pieces; ++i) {
    messages.wait(posted[i].begin, posted[i].receives_end);
    for (int peer = 0; peer < n; ++peer) parts[peer] = received(i, peer);
    parts[group.rank] = blocks + (group.rank * count_per_rank + i * piece) * element;
    sum_in_order(parts, static_cast<std::byte*>(to) + i * piece * element, count_of(i), dtype);
    if (i + under_way < pieces) post(i + under_way);
  }
  messages.wait_all();
}

}  // namespace moe
