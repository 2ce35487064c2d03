#include "moe/train/rank_clocks.h"

#include <chrono>

namespace moe {
namespace {

double own_clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

BarrierTimes timed_barrier(Communicator& world, double time_limit_s) {
  const CallContext call{.time_limit_s = time_limit_s, .what = "barrier to compare clocks"};
  BarrierTimes times{.entered_s = own_clock_s()};
  world.barrier(call);
  times.left_s = own_clock_s();
  return times;
}

RankClocks::RankClocks(const std::vector<RankInfo>& ranks) {
  for (const RankInfo& rank : ranks) clocks_.push_back({.offset_s = rank.clock.offset_s});
}

void RankClocks::follow(std::span<const BarrierTimes> times) {
  const BarrierTimes& first = times.front();
  for (std::size_t rank = 1; rank < clocks_.size(); ++rank) {
    const BarrierTimes& own = times[rank];
    Clock& clock = clocks_[rank];
    const double middle_s = (own.entered_s + own.left_s) / 2;
    if (!began_) clock.begin_s = middle_s;
    clock.error_s = (own.left_s - own.entered_s + first.left_s - first.entered_s) / 2;
    const auto place = static_cast<int>(rank);
    if (on_rank_0(place, own.entered_s) <= first.left_s &&
        on_rank_0(place, own.left_s) >= first.entered_s) {
      continue;
    }
    const double offset_s = (first.entered_s + first.left_s) / 2 - middle_s;
    if (began_) {
      clock.drift = (offset_s - clock.offset_s) / (middle_s - clock.begin_s);
    } else {
      clock.offset_s = offset_s;
    }
  }
  began_ = true;
}

double RankClocks::on_rank_0(int rank, double own_s) const {
  const Clock& clock = clocks_[static_cast<std::size_t>(rank)];
  return own_s + clock.offset_s + clock.drift * (own_s - clock.begin_s);
}

}  // namespace moe
