#include <vector>

#include "moe/communicator/collectives/collectives.h"
#include "moe/communicator/collectives/reduce_fragments.h"

namespace moe {

void carry_out(Group& group, const collective::ReduceScatter& c, const CallContext& call) {
  const int n = group.size();
  const int element = bytes_of(c.dtype);
  const std::int64_t fragment = std::min(c.count, reduce_fragment_count(n, c.dtype));
  const auto* blocks = static_cast<const std::byte*>(c.from);
  const std::int64_t fragments = fragment == 0 ? 0 : (c.count + fragment - 1) / fragment;
  const std::int64_t under_way = std::min<std::int64_t>(fragments, kReduceFragmentsUnderWay);
  std::byte* scratch = reduce_scratch(group, under_way * n * fragment * element);
  const auto received = [&](std::int64_t i, int peer) {
    return scratch + (i % under_way * n + peer) * fragment * element;
  };
  const auto messages = group.messages(call, c.name);
  const auto count_of = [&](std::int64_t i) { return std::min(fragment, c.count - i * fragment); };
  struct Posted {
    int begin, receives_end;
  };
  std::vector<Posted> posted;
  const auto post = [&](std::int64_t i) {
    const int begin = messages->posted();
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + n - step) % n;
      messages->receive(received(i, peer), count_of(i) * element, peer);
    }
    posted.push_back({begin, messages->posted()});
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + step) % n;
      messages->send(blocks + (peer * c.count + i * fragment) * element, count_of(i) * element,
                     peer);
    }
  };

  for (std::int64_t i = 0; i < under_way; ++i) post(i);
  std::vector<const void*> parts(n);
  for (std::int64_t i = 0; i < fragments; ++i) {
    messages->wait(posted[i].begin, posted[i].receives_end);
    for (int peer = 0; peer < n; ++peer) parts[peer] = received(i, peer);
    parts[group.rank] = blocks + (group.rank * c.count + i * fragment) * element;
    sum_parts(group, parts, static_cast<std::byte*>(c.to) + i * fragment * element, count_of(i),
              c.dtype);
    if (i + under_way < fragments) post(i + under_way);
  }
  messages->wait_all();
}

}  // namespace moe
