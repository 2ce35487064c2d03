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
  changed_.notify_all();
}

void Progress::await_end() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void Progress::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool Progress::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

int Progress::await_iteration(int seen) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || iteration_ > seen; });
  return stopping_ ? -1 : iteration_;
}

void Progress::leave_iteration() {
  const std::lock_guard lock(mutex_);
  --busy_;
  changed_.notify_all();
}

Progress::Turn Progress::await(int op, std::span<const int> first, std::span<const int> second,
                               double limit_s) {
  std::unique_lock lock(mutex_);
  const auto missing = [&] {
    for (const auto& earlier : {first, second}) {
      for (const int other : earlier) {
        if (!ended_[other]) return other;
      }
    }
    return -1;
  };
  const bool came = changed_.wait_for(lock, std::chrono::duration<double>(limit_s),
                                      [&] { return failure_ || (prepared_[op] && missing() < 0); });
  if (!came) return {Verdict::timed_out, missing()};
  return {failure_ ? Verdict::failed : Verdict::go, -1};
}

void Progress::prepared(std::span<const int> ops) {
  const std::lock_guard lock(mutex_);
  for (const int op : ops) prepared_[op] = true;
  changed_.notify_all();
}

void Progress::ended(int op) {
  const std::lock_guard lock(mutex_);
  ended_[op] = true;
  changed_.notify_all();
}

void Progress::failed(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  changed_.notify_all();
}

}  // namespace moe
