#include <algorithm>
#include <vector>

#include "moe/communicator/collectives/by_node.h"
#include "moe/communicator/collectives/collectives.h"
#include "moe/communicator/collectives/reduce_fragments.h"

namespace moe {
namespace {

/// Below this many bytes from each rank a second round costs more than what it saves.
constexpr std::int64_t kReducedInOneRoundBytes = 16 * 1024;

void everybody_sends_everything(Group& group, const collective::AllReduce& c,
                                const CallContext& call) {
  const int n = group.size();
  const std::int64_t bytes = c.count * bytes_of(c.dtype);
  std::byte* scratch = reduce_scratch(group, n * bytes);
  std::vector<const void*> parts(n);
  const auto messages = group.messages(call, c.name);
  for (int step = 1; step < n; ++step) {
    const int peer = (group.rank + n - step) % n;
    messages->receive(scratch + peer * bytes, bytes, peer);
  }
  for (int step = 1; step < n; ++step) messages->send(c.from, bytes, (group.rank + step) % n);
  messages->wait_all();
  for (int peer = 0; peer < n; ++peer) parts[peer] = scratch + peer * bytes;
  parts[group.rank] = c.from;
  sum_parts(group, parts, c.to, c.count, c.dtype);
}

/// Every rank adds a share of each fragment and sends its sum to all others.
void everybody_adds_a_share(Group& group, const collective::AllReduce& c, const CallContext& call) {
  const int n = group.size();
  const int element = bytes_of(c.dtype);
  auto* base = static_cast<std::byte*>(c.to);
  const SharedSum sum(c.count, n, n, c.dtype);  // each rank adds a share of every fragment
  const std::int64_t under_way = sum.under_way();
  std::byte* scratch = reduce_scratch(group, under_way * n * sum.largest_share() * element);
  const auto received = [&](std::int64_t f, int peer) {
    return scratch + (f % under_way * n + peer) * sum.largest_share() * element;
  };
  const auto messages = group.messages(call, c.name);

  struct Posted {
    int begin, end;
  };
  std::vector<Posted> posted;
  const auto scatter = [&](std::int64_t f) {
    const int begin = messages->posted();
    const auto own = sum.share(f, group.rank);
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + n - step) % n;
      messages->receive(received(f, peer), own.count * element, peer);
    }
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + step) % n;
      const auto theirs = sum.share(f, peer);
      messages->send(base + theirs.begin * element, theirs.count * element, peer);
    }
    posted.push_back({begin, messages->posted()});
  };
  const auto gather = [&](std::int64_t f) {
    const auto own = sum.share(f, group.rank);
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + n - step) % n;
      const auto theirs = sum.share(f, peer);
      messages->receive(base + theirs.begin * element, theirs.count * element, peer,
                        Channel::result);
    }
    for (int step = 1; step < n; ++step) {
      messages->send(base + own.begin * element, own.count * element, (group.rank + step) % n,
                     Channel::result);
    }
  };

  for (std::int64_t f = 0; f < under_way; ++f) scatter(f);
  std::vector<const void*> parts(n);
  for (std::int64_t f = 0; f < sum.fragments(); ++f) {
    // Sends too: the results of the others arrive where their shares were sent from.
    messages->wait(posted[f].begin, posted[f].end);
    const auto own = sum.share(f, group.rank);
    for (int peer = 0; peer < n; ++peer) parts[peer] = received(f, peer);
    parts[group.rank] = base + own.begin * element;
    sum_parts(group, parts, base + own.begin * element, own.count, c.dtype);
    gather(f);
    if (f + under_way < sum.fragments()) scatter(f + under_way);
  }
  messages->wait_all();
}

}  // namespace

void carry_out(Group& group, const collective::AllReduce& c, const CallContext& call) {
  const int n = group.size();
  if (n == 1 || c.count == 0) return;
  if (c.count * bytes_of(c.dtype) * (n - 1) <= kReducedInOneRoundBytes) {
    everybody_sends_everything(group, c, call);
  } else if (group.nodes.share_cards()) {
    all_reduce_by_node(group, c, call);
  } else {
    everybody_adds_a_share(group, c, call);
  }
}

}  // namespace moe
