#include "moe/backend/thread_choice.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace moe {
namespace {

int bits_of(std::int64_t count) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count)));
}

}  // namespace

OpSize size_of(const BoundOp& op) {
  std::int64_t elements = 0, rows = 0;
  for (const auto* views : {&op.reads, &op.writes}) {
    for (const View& view : *views) elements += view.rows * view.columns;
  }
  for (const RowRange& range : op.ranges) rows += range.rows;
  return {op.op->kind.index(), bits_of(elements), bits_of(rows)};
}

bool ThreadChoice::takes_all(const OpSize& size) {
  const std::lock_guard lock(mutex_);
  State& state = states_[size];
  if (state.ops == state.period) state = {.period = std::min(4 * state.period, kLongestPeriod)};
  const int op = state.ops++;
  if (op < 2 * kTries) return op % 2 == 0;
  constexpr double kWorthIt = 0.95;
  return median(state.all) < kWorthIt * median(state.one);
}

void ThreadChoice::measured(const OpSize& size, bool all, double seconds) {
  const std::lock_guard lock(mutex_);
  State& state = states_[size];
  Times& times = all ? state.all : state.one;
  if (times.count < kTries) times.seconds[static_cast<std::size_t>(times.count++)] = seconds;
}

double ThreadChoice::median(Times times) {
  const auto middle = times.seconds.begin() + times.count / 2;
  std::nth_element(times.seconds.begin(), middle, times.seconds.begin() + times.count);
  return times.count == 0 ? 0 : *middle;
}

}  // namespace moe
