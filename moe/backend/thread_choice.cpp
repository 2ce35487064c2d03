#include "moe/backend/thread_choice.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace moe {
namespace {

/// A round of measurements may cost so much, beyond what they need.
constexpr double kMostWaiting_s = 0.05;

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
    all_s_ = one_s_ = {};
    needed_s_ = waited_s_ = 0;
    ++round_;
    period_ = std::min(4 * period_, kLongestPeriod);
  }
  ++ops_;
  State& state = states_[size];
  if (state.round != round_) state = {.round = round_};
  if (waited_s_ > std::max(kMostWaiting_s, needed_s_)) return false;
  const int op = state.ops++;
  if (op < 2 * kTries) return op < kTries;
  return median(all_s_) < median(one_s_) && is_worth_it(state);
}

void ThreadChoice::measured(const OpSize& size, bool all, double seconds) {
  const std::lock_guard lock(mutex_);
  State& state = states_[size];
  if (state.round != round_) return;
  Times& times = all ? state.all : state.one;
  if (times.count == kTries) return;
  times.seconds[static_cast<std::size_t>(times.count++)] = seconds;
  if (all && times.count == kTries) add_waiting(times.seconds);
  if (state.all.count < kTries || state.one.count < kTries || !is_worth_it(state)) return;
  for (std::size_t i = 0; i < kTries; ++i) {
    all_s_[i] += state.all.seconds[i];
    one_s_[i] += state.one.seconds[i];
  }
}

void ThreadChoice::add_waiting(const Tries& seconds) {
  const double shortest = std::ranges::min(seconds);
  for (std::size_t i = 1; i < kTries; ++i) {
    needed_s_ += shortest;
    waited_s_ += seconds[i] - shortest;
  }
}

bool ThreadChoice::is_worth_it(const State& state) {
  constexpr double kWorthIt = 0.95;
  return median(state.all.seconds) < kWorthIt * median(state.one.seconds);
}

double ThreadChoice::median(Tries seconds) {
  const auto middle = seconds.begin() + kTries / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace moe
