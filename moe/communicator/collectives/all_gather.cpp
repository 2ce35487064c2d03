#include <cstring>

#include "moe/communicator/collectives/by_node.h"
#include "moe/communicator/collectives/collectives.h"

namespace moe {

void carry_out(Group& group, const collective::AllGather& c, const CallContext& call) {
  const std::int64_t bytes = c.count * bytes_of(c.dtype);
  auto* blocks = static_cast<std::byte*>(c.to);
  std::byte* own = blocks + group.rank * bytes;
  if (own != c.from && bytes > 0) std::memcpy(own, c.from, bytes);
  if (gathers_by_node(group, bytes)) {
    all_gather_by_node(group, c, call);
    return;
  }
  const auto messages = group.messages(call, c.name);
  if (bytes == 0) return;
  for (int step = 1; step < group.size(); ++step) {
    const int peer = (group.rank + group.size() - step) % group.size();
    messages->receive(blocks + peer * bytes, bytes, peer);
  }
  for (int step = 1; step < group.size(); ++step) {
    messages->send(c.from, bytes, (group.rank + step) % group.size());
  }
  messages->wait_all();
}

}  // namespace moe
