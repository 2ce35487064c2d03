#include <algorithm>
#include <cstring>
#include <vector>

#include "moe/communicator/collectives/collectives.h"
#include "moe/communicator/collectives/reduce_fragments.h"

namespace moe {
namespace {

/// Below this many bytes from each rank the root adds alone: a second round would cost more.
constexpr std::int64_t kAddedByTheRootBytes = 16 * 1024;

}  // namespace

void carry_out(Group& group, const collective::Reduce& c, const CallContext& call) {
  const int n = group.size(), rank = group.rank;
  const int element = bytes_of(c.dtype);
  const auto* from = static_cast<const std::byte*>(c.from);
  auto* to = static_cast<std::byte*>(c.to);
  const auto messages = group.messages(call, c.name);
  if (c.count == 0) return;
  if (n == 1) {
    if (to != from) std::memcpy(to, from, c.count * element);
    return;
  }
  std::vector<int> adders{c.root};
  if (n > 2 && c.count * element > kAddedByTheRootBytes) {
    adders.clear();
    for (int step = 1; step < n; ++step) adders.push_back((c.root + step) % n);
  }
  const bool root_adds = adders[0] == c.root;
  const auto place = std::ranges::find(adders, rank);
  const int own = place == adders.end() ? -1 : static_cast<int>(place - adders.begin());

  const int adder_count = static_cast<int>(adders.size());
  const SharedSum sum(c.count, adder_count, n, c.dtype);
  const std::int64_t under_way = sum.under_way();
  std::byte* scratch =
      own < 0 ? nullptr : reduce_scratch(group, under_way * n * sum.largest_share() * element);
  const auto received = [&](std::int64_t f, int peer) {
    return scratch + (f % under_way * n + peer) * sum.largest_share() * element;
  };

  struct Posted {
    int begin, end;
  };
  std::vector<Posted> posted;
  const auto scatter = [&](std::int64_t f) {
    const int begin = messages->posted();
    for (int step = 1; step < n && own >= 0; ++step) {
      const int peer = (rank + n - step) % n;
      messages->receive(received(f, peer), sum.share(f, own).count * element, peer);
    }
    // The adder after this one first, so that no adder is everybody's first.
    for (int step = 1; step <= adder_count; ++step) {
      const int adder = (std::max(own, 0) + step) % adder_count;
      if (adder == own) continue;
      const auto theirs = sum.share(f, adder);
      messages->send(from + theirs.begin * element, theirs.count * element, adders[adder]);
    }
    posted.push_back({begin, messages->posted()});
  };

  for (std::int64_t f = 0; f < under_way; ++f) scatter(f);
  std::vector<const void*> parts(n);
  std::vector<int> results;  // by fragment: the message with this rank's sum
  for (std::int64_t f = 0; f < sum.fragments(); ++f) {
    // The root's sends too: where `to` is `from`, results arrive where its shares were sent from.
    messages->wait(posted[f].begin, posted[f].end);
    if (own >= 0) {
      const auto share = sum.share(f, own);
      for (int peer = 0; peer < n; ++peer) parts[peer] = received(f, peer);
      parts[rank] = from + share.begin * element;
      // The rank's own place among what it receives is free for its sum, once the last one is sent.
      if (!root_adds && f >= under_way) {
        messages->wait(results[f - under_way], results[f - under_way] + 1);
      }
      std::byte* result = root_adds ? to + share.begin * element : received(f, rank);
      sum_parts(group, parts, result, share.count, c.dtype);
      results.push_back(messages->posted());
      if (!root_adds) messages->send(result, share.count * element, c.root, Channel::result);
    } else if (rank == c.root) {
      for (int adder = 0; adder < adder_count; ++adder) {
        const auto theirs = sum.share(f, adder);
        messages->receive(to + theirs.begin * element, theirs.count * element, adders[adder],
                          Channel::result);
      }
    }
    if (f + under_way < sum.fragments()) scatter(f + under_way);
  }
  messages->wait_all();
}

}  // namespace moe
