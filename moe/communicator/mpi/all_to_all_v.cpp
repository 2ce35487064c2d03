#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "moe/communicator/mpi/collectives.h"

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

void copy_own(int rank, const std::byte* from, std::span<const Segment> send, std::byte* to,
              std::span<const Segment> receive, std::int64_t row_bytes) {
  std::size_t i = 0;
  const auto next = [&]() -> const Segment* {
    while (i < send.size() && (send[i].peer != rank || send[i].rows == 0)) ++i;
    return i < send.size() ? &send[i++] : nullptr;
  };
  for (const Segment& segment : receive) {
    if (segment.peer != rank || segment.rows == 0) continue;
    const Segment* own = next();
    if (own == nullptr || own->rows != segment.rows) {
      throw std::invalid_argument(
          fmt::format("all_to_all_v: rank {} expects {} rows from itself and sends {}", rank,
                      segment.rows, own == nullptr ? 0 : own->rows));
    }
    std::memcpy(to + segment.begin * row_bytes, from + own->begin * row_bytes,
                segment.rows * row_bytes);
  }
}

}  // namespace

void mpi_all_to_all_v(MpiGroup& group, const std::byte* from, std::span<const Segment> send,
                      std::byte* to, std::span<const Segment> receive, std::int64_t row_bytes,
                      const CallContext& call) {
  check_peers(send, group.size());
  check_peers(receive, group.size());
  MpiMessages messages(group, call, "all_to_all_v");
  for (int step = 1; step < group.size(); ++step) {
    const int peer = (group.rank + group.size() - step) % group.size();
    for (const Segment& segment : receive) {
      if (segment.peer != peer || segment.rows == 0) continue;
      messages.receive(to + segment.begin * row_bytes, segment.rows * row_bytes, peer);
    }
  }
  for (int step = 1; step < group.size(); ++step) {
    const int peer = (group.rank + step) % group.size();
    for (const Segment& segment : send) {
      if (segment.peer != peer || segment.rows == 0) continue;
      messages.send(from + segment.begin * row_bytes, segment.rows * row_bytes, peer);
    }
  }
  copy_own(group.rank, from, send, to, receive, row_bytes);
  messages.wait_all();
}

}  // namespace moe
