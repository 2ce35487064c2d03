#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "moe/communicator/collectives/collectives.h"

namespace moe {
namespace {

void check_peers(std::span<const Segment> segments, int size) {
  for (const Segment& segment : segments) {
    if (segment.peer < 0 || segment.peer >= size || segment.rows < 0) {
      throw std::invalid_argument(fmt::format("all_to_all_v: {} rows for peer {} of {} ranks",
                                              segment.rows, segment.peer, size));
    }
  }
}

void copy_own(int rank, const collective::AllToAllV& c) {
  std::size_t i = 0;
  const auto next = [&]() -> const Segment* {
    while (i < c.send.size() && (c.send[i].peer != rank || c.send[i].rows == 0)) ++i;
    return i < c.send.size() ? &c.send[i++] : nullptr;
  };
  for (const Segment& segment : c.receive) {
    if (segment.peer != rank || segment.rows == 0) continue;
    const Segment* own = next();
    if (own == nullptr || own->rows != segment.rows) {
      throw std::invalid_argument(
          fmt::format("all_to_all_v: rank {} expects {} rows from itself and sends {}", rank,
                      segment.rows, own == nullptr ? 0 : own->rows));
    }
    std::memcpy(c.to + segment.begin * c.row_bytes, c.from + own->begin * c.row_bytes,
                segment.rows * c.row_bytes);
  }
}

}  // namespace

void carry_out(Group& group, const collective::AllToAllV& c, const CallContext& call) {
  check_peers(c.send, group.size());
  check_peers(c.receive, group.size());
  const auto messages = group.messages(call, c.name);
  for (int step = 1; step < group.size(); ++step) {
    const int peer = (group.rank + group.size() - step) % group.size();
    for (const Segment& segment : c.receive) {
      if (segment.peer != peer || segment.rows == 0) continue;
      messages->receive(c.to + segment.begin * c.row_bytes, segment.rows * c.row_bytes, peer);
    }
  }
  for (int step = 1; step < group.size(); ++step) {
    const int peer = (group.rank + step) % group.size();
    for (const Segment& segment : c.send) {
      if (segment.peer != peer || segment.rows == 0) continue;
      messages->send(c.from + segment.begin * c.row_bytes, segment.rows * c.row_bytes, peer);
    }
  }
  copy_own(group.rank, c);
  messages->wait_all();
}

}  // namespace moe
