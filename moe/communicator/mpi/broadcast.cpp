#include <algorithm>
#include <vector>

#include "moe/communicator/mpi/collectives.h"

namespace moe {
namespace {

constexpr std::int64_t kSentInOneRoundBytes = 32 * 1024;
constexpr std::int64_t kSmallestRelayPieceBytes = 64 * 1024;
constexpr std::int64_t kLargestPieceBytes = 4 * 1024 * 1024;
/// The last piece's second hop is what a broadcast takes longer than its bytes.
constexpr std::int64_t kPiecesPerRelay = 64;
/// To each peer. MPI sends the beginnings of all posted messages before the rest of the first: more
/// pieces under way arrive later, not sooner.
constexpr int kPiecesUnderWay = 2;

}  // namespace

void mpi_broadcast(MpiGroup& group, void* data, std::int64_t count, DType dtype, int root,
                   const CallContext& call) {
  const int n = group.size();
  const std::int64_t bytes = count * bytes_of(dtype);
  auto* base = static_cast<std::byte*>(data);
  MpiMessages messages(group, call, "broadcast");
  if (bytes == 0 || n == 1) return;
  if (n == 2 || bytes <= kSentInOneRoundBytes) {
    if (group.rank == root) {
      for (int step = 1; step < n; ++step) messages.send(base, bytes, (root + step) % n);
    } else {
      messages.receive(base, bytes, root);
    }
    messages.wait_all();
    return;
  }

  const std::int64_t piece =
      std::clamp(bytes / kPiecesPerRelay / (n - 1), kSmallestRelayPieceBytes, kLargestPieceBytes);
  const std::int64_t pieces = (bytes + piece - 1) / piece;
  const auto size_of = [&](std::int64_t i) { return std::min(piece, bytes - i * piece); };
  const auto relay_of = [&](std::int64_t i) {
    return static_cast<int>((root + 1 + i % (n - 1)) % n);
  };
  if (group.rank == root) {
    const int window = kPiecesUnderWay * (n - 1);
    for (std::int64_t i = 0; i < pieces; ++i) {
      const int oldest = messages.posted() - window;
      if (oldest >= 0) messages.wait(oldest, oldest + 1);
      messages.send(base + i * piece, size_of(i), relay_of(i));
    }
    messages.wait_all();
    return;
  }
  struct Relayed {
    std::int64_t piece;
    int request;
  };
  std::vector<Relayed> relayed;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const bool own = relay_of(i) == group.rank;
    if (own) relayed.push_back({i, messages.posted()});
    messages.receive(base + i * piece, size_of(i), own ? root : relay_of(i),
                     own ? Channel::data : Channel::result);
  }
  const int first_send = messages.posted();
  const int window = kPiecesUnderWay * (n - 2);
  for (const Relayed& mine : relayed) {
    messages.wait(mine.request, mine.request + 1);
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + step) % n;
      if (peer == root) continue;
      const int oldest = messages.posted() - window;
      if (oldest >= first_send) messages.wait(oldest, oldest + 1);
      messages.send(base + mine.piece * piece, size_of(mine.piece), peer, Channel::result);
    }
  }
  messages.wait_all();
}

}  // namespace moe
