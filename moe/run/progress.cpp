#include "moe/run/progress.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace moe {

void Progress::begin(std::size_t ops, int threads) {
  const std::lock_guard lock(mutex_);
  prepared_.assign(ops, false);
  ended_.assign(ops, false);
  ++iteration_;
  busy_ = threads;
  iteration_begins_.notify_all();
}

void Progress::await_end() {
  std::unique_lock lock(mutex_);
  iteration_ends_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void Progress::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  iteration_begins_.notify_all();
}

bool Progress::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

int Progress::await_iteration(int seen) {
  std::unique_lock lock(mutex_);
  iteration_begins_.wait(lock, [&] { return stopping_ || iteration_ > seen; });
  return stopping_ ? -1 : iteration_;
}

void Progress::leave_iteration() {
  const std::lock_guard lock(mutex_);
  if (--busy_ == 0) iteration_ends_.notify_all();
}

int Progress::missing(const Waiter& waiter) const {
  for (const auto& earlier : {waiter.first, waiter.second}) {
    for (const int other : earlier) {
      if (!ended_[other]) return other;
    }
  }
  return -1;
}

bool Progress::may_go_on(const Waiter& waiter) const {
  return failure_ || (prepared_[waiter.op] && missing(waiter) < 0);
}

void Progress::wake_waiters() {
  for (Waiter* waiter : waiters_) {
    if (may_go_on(*waiter)) waiter->its_turn.notify_one();
  }
}

Progress::Turn Progress::await(int op, std::span<const int> first, std::span<const int> second,
                               double limit_s) {
  Waiter self{op, first, second, {}};
  std::unique_lock lock(mutex_);
  if (!may_go_on(self)) {
    waiters_.push_back(&self);
    const bool came = self.its_turn.wait_for(lock, std::chrono::duration<double>(limit_s),
                                             [&] { return may_go_on(self); });
    std::erase(waiters_, &self);
    if (!came) return {Verdict::timed_out, missing(self)};
  }
  return {failure_ ? Verdict::failed : Verdict::go, -1};
}

void Progress::prepared(std::span<const int> ops) {
  const std::lock_guard lock(mutex_);
  for (const int op : ops) prepared_[op] = true;
  wake_waiters();
}

void Progress::ended(int op) {
  const std::lock_guard lock(mutex_);
  ended_[op] = true;
  wake_waiters();
}

void Progress::failed(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  wake_waiters();
}

}  // namespace moe
