#include "moe/backend/thread_choice.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

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
  if (ops_ > 0 && ops_ >= static_cast<std::size_t>(period_) * states_.size()) {
    ops_ = 0;
    all_s_ = one_s_ = 0;
    ++round_;
    period_ = std::min(4 * period_, kLongestPeriod);
  }
  ++ops_;
  State& state = states_[size];
  if (state.round != round_) state = {.round = round_};
  const int op = state.ops++;
  if (op < 2 * kTries) return op < kTries;
  constexpr double kWorthIt = 0.95;
  return all_s_ < one_s_ && median(state.all) < kWorthIt * median(state.one);
}

void ThreadChoice::measured(const OpSize& size, bool all, double seconds) {
  const std::lock_guard lock(mutex_);
  State& state = states_[size];
  Times& times = all ? state.all : state.one;
  if (times.count == kTries) return;
  times.seconds[static_cast<std::size_t>(times.count++)] = seconds;
  if (state.all.count < kTries || state.one.count < kTries) return;
  all_s_ += sum_of_later(state.all);
  one_s_ += sum_of_later(state.one);
}

double ThreadChoice::sum_of_later(const Times& times) {
  return std::accumulate(times.seconds.begin() + 1, times.seconds.end(), 0.0);
}

double ThreadChoice::median(Times times) {
  const auto middle = times.seconds.begin() + times.count / 2;
  std::nth_element(times.seconds.begin(), middle, times.seconds.begin() + times.count);
  return times.count == 0 ? 0 : *middle;
}

}  // namespace moe
