#include <algorithm>
#include <vector>

#include "moe/communicator/mpi/collectives.h"
#include "moe/communicator/mpi/reduce_pieces.h"
#include "moe/communicator/sum.h"

namespace moe {
namespace {

/// Below this many bytes from each rank a second round costs more than what it saves.
constexpr std::int64_t kReducedInOneRoundBytes = 16 * 1024;

void everybody_sends_everything(MpiGroup& group, void* data, std::int64_t count, DType dtype,
                                const CallContext& call) {
  const int n = group.size();
  const std::int64_t bytes = count * bytes_of(dtype);
  std::byte* scratch = reduce_scratch(group, n * bytes);
  std::vector<const void*> parts(n);
  MpiMessages messages(group, call, "all_reduce");
  for (int step = 1; step < n; ++step) {
    const int peer = (group.rank + n - step) % n;
    messages.receive(scratch + peer * bytes, bytes, peer);
  }
  for (int step = 1; step < n; ++step) messages.send(data, bytes, (group.rank + step) % n);
  messages.wait_all();
  for (int peer = 0; peer < n; ++peer) parts[peer] = scratch + peer * bytes;
  parts[group.rank] = data;
  sum_in_order(parts, data, count, dtype);
}

}  // namespace

void mpi_all_reduce(MpiGroup& group, void* data, std::int64_t count, DType dtype,
                    const CallContext& call) {
  const int n = group.size();
  const int element = bytes_of(dtype);
  if (count * element * (n - 1) <= kReducedInOneRoundBytes || n == 1) {
    if (count > 0 && n > 1) everybody_sends_everything(group, data, count, dtype, call);
    return;
  }
  // A chunk is n shares; share p of it is added up by rank p.
  auto* base = static_cast<std::byte*>(data);
  const std::int64_t chunk = std::min(count, n * reduce_piece_count(n, dtype));
  const std::int64_t largest_share = (chunk + n - 1) / n;
  const std::int64_t chunks = (count + chunk - 1) / chunk;
  struct Share {
    std::int64_t begin, count;
  };
  const auto share = [&](std::int64_t c, int p) {
    const std::int64_t in_chunk = std::min(chunk, count - c * chunk);
    const std::int64_t begin = slice_begin(in_chunk, {p, n});
    return Share{c * chunk + begin, slice_end(in_chunk, {p, n}) - begin};
  };
  const std::int64_t under_way = std::min<std::int64_t>(chunks, kReducePiecesUnderWay);
  std::byte* scratch = reduce_scratch(group, under_way * n * largest_share * element);
  const auto received = [&](std::int64_t c, int peer) {
    return scratch + (c % under_way * n + peer) * largest_share * element;
  };
  MpiMessages messages(group, call, "all_reduce");

  struct Posted {
    int begin, end;
  };
  std::vector<Posted> posted;
  const auto scatter = [&](std::int64_t c) {
    const int begin = messages.posted();
    const Share own = share(c, group.rank);
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + n - step) % n;
      messages.receive(received(c, peer), own.count * element, peer);
    }
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + step) % n;
      messages.send(base + share(c, peer).begin * element, share(c, peer).count * element, peer);
    }
    posted.push_back({begin, messages.posted()});
  };
  const auto gather = [&](std::int64_t c) {
    const Share own = share(c, group.rank);
    for (int step = 1; step < n; ++step) {
      const int peer = (group.rank + n - step) % n;
      messages.receive(base + share(c, peer).begin * element, share(c, peer).count * element, peer,
                       Channel::result);
    }
    for (int step = 1; step < n; ++step) {
      messages.send(base + own.begin * element, own.count * element, (group.rank + step) % n,
                    Channel::result);
    }
  };

  for (std::int64_t c = 0; c < under_way; ++c) scatter(c);
  std::vector<const void*> parts(n);
  for (std::int64_t c = 0; c < chunks; ++c) {
    // Sends too: the results of the others arrive where their shares were sent from.
    messages.wait(posted[c].begin, posted[c].end);
    const Share own = share(c, group.rank);
    for (int peer = 0; peer < n; ++peer) parts[peer] = received(c, peer);
    parts[group.rank] = base + own.begin * element;
    sum_in_order(parts, base + own.begin * element, own.count, dtype);
    gather(c);
    if (c + under_way < chunks) scatter(c + under_way);
  }
  messages.wait_all();
}

}  // namespace moe
