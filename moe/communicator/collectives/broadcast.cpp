#include <algorithm>
#include <vector>

#include "moe/communicator/collectives/collectives.h"

namespace moe {
namespace {

constexpr std::int64_t kSentInOneRoundBytes = 32 * 1024;
constexpr std::int64_t kSmallestRelayFragmentBytes = 64 * 1024;
constexpr std::int64_t kLargestFragmentBytes = 4 * 1024 * 1024;
/// The second hop of the last fragment is the only time beyond that of the bytes.
constexpr std::int64_t kFragmentsPerRelay = 64;
/// To each peer. MPI sends the beginnings of all posted messages before the rest of the first: more
/// fragments under way arrive later, not sooner.
constexpr int kFragmentsUnderWay = 2;

}  // namespace

void carry_out(Group& group, const collective::Broadcast& c, const CallContext& call) {
  const int n = group.size(), root = c.root;
  const std::int64_t bytes = c.count * bytes_of(c.dtype);
  auto* base = static_cast<std::byte*>(c.to);
  const auto messages = group.messages(call, c.name);
  if (bytes == 0 || n == 1) return;
  if (n == 2 || bytes <= kSentInOneRoundBytes) {
    if (group.rank == root) {
      for (int step = 1; step < n; ++step) messages->send(base, bytes, (root + step) % n);
    } else {
      messages->receive(base, bytes, root);
    }
    messages->wait_all();
    return;
  }

  const std::int64_t fragment = std::clamp(bytes / kFragmentsPerRelay / (n - 1),
                                           kSmallestRelayFragmentBytes, kLargestFragmentBytes);
  const std::int64_t fragments = (bytes + fragment - 1) / fragment;
  const auto size_of = [&](std::int64_t i) { return std::min(fragment, bytes - i * fragment); };
  const auto relay_of = [&](std::int64_t i) {
    return static_cast<int>((root + 1 + i % (n - 1)) % n);
  };
  if (group.rank == root) {
    const int window = kFragmentsUnderWay * (n - 1);
    for (std::int64_t i = 0; i < fragments; ++i) {
      const int oldest = messages->posted() - window;
      if (oldest >= 0) messages->wait(oldest, oldest + 1);
      messages->send(base + i * fragment, size_of(i), relay_of(i));
    }
    messages->wait_all();
    return;
  }
  struct Relayed {
    std::int64_t fragment;
    int request;
  };
  std::vector<Relayed> relayed;
  for (std::int64_t i = 0; i < fragments; ++i) {
    const bool own = relay_of(i) == group.rank;
    if (own) relayed.push_back({i, messages->posted()});
    messages->receive(base + i * fragment, size_of(i), own ? root : relay_of(i),
                      own ? Channel::data : Channel::result);
  }
  const int first_send = messages->posted();
  const int window = kFragmentsUnderWay * (n - 2);
  for (const Relayed& mine : relayed) {
    messages->wait(mine.request, mine.request + 1);
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + step) % n;
      if (peer == root) continue;
      const int oldest = messages->posted() - window;
      if (oldest >= first_send) messages->wait(oldest, oldest + 1);
      messages->send(base + mine.fragment * fragment, size_of(mine.fragment), peer,
                     Channel::result);
    }
  }
  messages->wait_all();
}

}  // namespace moe
