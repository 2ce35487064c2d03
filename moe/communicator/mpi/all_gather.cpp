#include <cstring>

#include "moe/communicator/mpi/collectives.h"

namespace moe {

void carry_out(MpiGroup& group, const collective::AllGather& c, const CallContext& call) {
  const std::int64_t bytes = c.count * bytes_of(c.dtype);
  auto* blocks = static_cast<std::byte*>(c.to);
  MpiMessages messages(group, call, c.name);
  if (bytes == 0) return;
  for (int step = 1; step < group.size(); ++step) {
    const int peer = (group.rank + group.size() - step) % group.size();
    messages.receive(blocks + peer * bytes, bytes, peer);
  }
  for (int step = 1; step < group.size(); ++step) {
    messages.send(c.from, bytes, (group.rank + step) % group.size());
  }
  std::byte* own = blocks + group.rank * bytes;
  if (own != c.from) std::memcpy(own, c.from, bytes);
  messages.wait_all();
}

}  // namespace moe
