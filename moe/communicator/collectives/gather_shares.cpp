#include "moe/communicator/collectives/by_node.h"
#include "moe/communicator/collectives/collectives.h"

namespace moe {

void carry_out(Group& group, const collective::GatherShares& c, const CallContext& call) {
  const int n = group.size();
  const int element = bytes_of(c.dtype);
  if (n == 1) return;
  const auto by_node = [&](const ElementRange& array) {
    return gathers_by_node(group, array.count / n * element);
  };
  for (const ElementRange& array : c.arrays) {
    if (!by_node(array)) continue;
    std::byte* const first = c.data + array.begin * element;
    const std::int64_t equal = array.count / n;
    all_gather_by_node(
        group, collective::AllGather{{first + group.rank * equal * element, first, equal, c.dtype}},
        call);
  }

  // All of short arrays; of those gathered by node what the last rank has more than the others.
  const auto left = [&](const ElementRange& array, int owner) {
    if (!by_node(array)) return element_share(array, owner, n);
    const std::int64_t gathered = array.count / n * n;
    return ElementRange{array.begin + gathered, owner + 1 < n ? 0 : array.count - gathered};
  };
  const auto messages = group.messages(call, c.name);
  for (int step = 1; step < n; ++step) {
    const int peer = (group.rank + n - step) % n;
    for (const ElementRange& array : c.arrays) {
      const ElementRange theirs = left(array, peer);
      if (theirs.count == 0) continue;
      messages->receive(c.data + theirs.begin * element, theirs.count * element, peer);
    }
  }
  for (int step = 1; step < n; ++step) {
    for (const ElementRange& array : c.arrays) {
      const ElementRange own = left(array, group.rank);
      if (own.count == 0) continue;
      messages->send(c.data + own.begin * element, own.count * element, (group.rank + step) % n);
    }
  }
  messages->wait_all();
}

}  // namespace moe
