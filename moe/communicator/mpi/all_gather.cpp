#include <cstring>

#include "moe/communicator/mpi/collectives.h"

namespace moe {

void mpi_all_gather(MpiGroup& group, const void* from, void* to, std::int64_t count_per_rank,
                    DType dtype, const CallContext& call) {
  const std::int64_t bytes = count_per_rank * bytes_of(dtype);
  auto* blocks = static_cast<std::byte*>(to);
  MpiMessages messages(group, call, "all_gather");
  if (bytes == 0) return;
  for (int step = 1; step < group.size(); ++step) {
    const int peer = (group.rank + group.size() - step) % group.size();
    messages.receive(blocks + peer * bytes, bytes, peer);
  }
  for (int step = 1; step < group.size(); ++step) {
    messages.send(from, bytes, (group.rank + step) % group.size());
  }
  if (blocks + group.rank * bytes != from) std::memcpy(blocks + group.rank * bytes, from, bytes);
  messages.wait_all();
}

}  // namespace moe
