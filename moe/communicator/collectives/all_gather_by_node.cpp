#include <algorithm>
#include <vector>

#include "moe/communicator/collectives/by_node.h"

namespace moe {
namespace {

/// A piece of a block is passed on inside a node while the next one arrives.
constexpr std::int64_t kPieceBytes = std::int64_t{512} << 10;

}  // namespace

void all_gather_by_node(Group& group, const collective::AllGather& c, const CallContext& call) {
  const GroupNodes& nodes = group.nodes;
  const int own_node = nodes.node[group.rank], own_place = nodes.place[group.rank];
  const std::vector<int>& here = nodes.members[own_node];
  const std::int64_t bytes = c.count * bytes_of(c.dtype);
  const std::int64_t pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
  auto* blocks = static_cast<std::byte*>(c.to);
  const auto piece_of = [&](int source, std::int64_t p) {
    return blocks + source * bytes + p * kPieceBytes;
  };
  const auto size_of = [&](std::int64_t p) {
    return std::min(kPieceBytes, bytes - p * kPieceBytes);
  };
  /// The member of `node` that gets the block of `source`, which is on another node.
  const auto receiver = [&](int source, int node) {
    const std::vector<int>& there = nodes.members[node];
    return there[nodes.place[source] % std::ssize(there)];
  };
  // The ranks of other nodes: those of the node before this one first.
  std::vector<int> others;
  for (int step = 1; step < nodes.count(); ++step) {
    const auto& there = nodes.members[(own_node + nodes.count() - step) % nodes.count()];
    others.insert(others.end(), there.begin(), there.end());
  }

  const auto messages = group.messages(call, c.name);
  struct Arriving {
    int source;
    std::int64_t piece;
    int message;
  };
  std::vector<Arriving> arriving;
  for (const int peer : here) {
    if (peer != group.rank) messages->receive(piece_of(peer, 0), bytes, peer);
  }
  for (std::int64_t p = 0; p < pieces; ++p) {
    for (const int source : others) {
      const int from = receiver(source, own_node);
      if (from == group.rank) {
        arriving.push_back({source, p, messages->posted()});
        messages->receive(piece_of(source, p), size_of(p), source);
      } else {
        messages->receive(piece_of(source, p), size_of(p), from, Channel::result);
      }
    }
  }
  for (int step = 1; step < nodes.count(); ++step) {
    const int to = receiver(group.rank, (own_node + step) % nodes.count());
    for (std::int64_t p = 0; p < pieces; ++p) {
      messages->send(piece_of(group.rank, p), size_of(p), to);
    }
  }
  for (std::size_t step = 1; step < here.size(); ++step) {
    messages->send(piece_of(group.rank, 0), bytes, here[(own_place + step) % here.size()]);
  }
  for (const Arriving& one : arriving) {
    messages->wait(one.message, one.message + 1);
    for (std::size_t step = 1; step < here.size(); ++step) {
      messages->send(piece_of(one.source, one.piece), size_of(one.piece),
                     here[(own_place + step) % here.size()], Channel::result);
    }
  }
  messages->wait_all();
}

}  // namespace moe
