#include <chrono>
#include <limits>

#include "moe/communicator/communicator.h"

namespace moe {
namespace {

double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ClockOffset measure_clock_offset(Communicator& world, double time_limit_s, int rounds) {
  ClockOffset best{.offset_s = 0, .error_s = std::numeric_limits<double>::infinity()};
  const CallContext call{.time_limit_s = time_limit_s, .what = "clock offset"};
  const auto send = [&](int from, int to, double& value) {
    const Segment to_peer{.peer = to, .rows = 1}, from_peer{.peer = from, .rows = 1};
    const std::span<const Segment> none;
    auto* bytes = reinterpret_cast<std::byte*>(&value);
    world.all_to_all_v(bytes, world.rank == from ? std::span(&to_peer, 1) : none, bytes,
                       world.rank == to ? std::span(&from_peer, 1) : none, sizeof value, call);
  };
  for (int peer = 1; peer < world.size; ++peer) {
    // The other ranks take part in these calls without data.
    for (int round = 0; round < rounds; ++round) {
      double question = 0;
      const double asked_s = clock_s();
      send(peer, 0, question);
      double answer_s = clock_s();
      send(0, peer, answer_s);
      const double answered_s = clock_s();
      const double error_s = (answered_s - asked_s) / 2;
      if (world.rank == peer && error_s < best.error_s) {
        best = {.offset_s = answer_s - (asked_s + answered_s) / 2, .error_s = error_s};
      }
    }
  }
  if (world.rank == 0) return {};
  return best;
}

}  // namespace moe
