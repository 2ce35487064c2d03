#include "moe/backend/thread_pool.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "moe/threads.h"

namespace moe {

ThreadPool::ThreadPool(int threads, std::chrono::nanoseconds awake)
    : awake_(awake), workers_(static_cast<std::size_t>(threads - 1)) {
  int part = 0;
  try {
    for (Worker& worker : workers_) {
      ++part;
      worker.thread = start_thread(fmt::format("computing ({} of {})", part + 1, threads),
                                   [this, &worker, part] { serve(worker, part); });
    }
  } catch (...) {
    end_workers();
    throw;
  }
}

ThreadPool::~ThreadPool() { end_workers(); }

void ThreadPool::end_workers() {
  ending_ = true;
  for (Worker& worker : workers_) {
    if (!worker.thread.joinable()) continue;
    ++worker.loops;
    worker.loops.notify_one();
    worker.thread.join();
  }
}

bool ThreadPool::share(int parts, const Loop& loop) {
  if (parts < 2 || used_.exchange(true, std::memory_order_acquire)) {
    for (int part = 0; part < parts; ++part) loop.call(loop.context, part);
    return parts < 2;
  }
  loop_ = loop;
  callers_core_.store(current_core(), std::memory_order_relaxed);
  const auto others = static_cast<std::uint32_t>(parts - 1);
  left_.store(others, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < others; ++i) {
    workers_[i].loops.fetch_add(1, std::memory_order_release);
    workers_[i].loops.notify_one();
  }
  carry_out(0);
  for (std::uint32_t left = others; left > 0; left = left_.load(std::memory_order_acquire)) {
    wait(left_, left);
  }
  const std::exception_ptr failure =
      failed_.exchange(false) ? std::exchange(failure_, nullptr) : nullptr;
  used_.store(false, std::memory_order_release);
  if (failure) std::rethrow_exception(failure);
  return true;
}

void ThreadPool::carry_out(int part) {
  try {
    loop_.call(loop_.context, part);
  } catch (...) {
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
}

void ThreadPool::serve(Worker& self, int part) {
  use_core(CoreUse::computes);
  std::vector<int> taken(workers_.size());
  for (std::uint32_t loops = 0;; ++loops) {
    const bool slept = wait(self.loops, loops);
    if (ending_) return;
    if (slept && awake_.count() > 0) take_own_core(self, taken);
    carry_out(part);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
  }
}

void ThreadPool::take_own_core(Worker& self, std::vector<int>& taken) {
  taken.assign(1, callers_core_.load(std::memory_order_relaxed));
  for (const Worker& worker : workers_) {
    if (&worker != &self) taken.push_back(worker.core.load(std::memory_order_relaxed));
  }
  leave_cores(taken);
  self.core.store(current_core(), std::memory_order_relaxed);
}

bool ThreadPool::wait(const std::atomic<std::uint32_t>& counter, std::uint32_t value) const {
  const auto start = std::chrono::steady_clock::now();
  const auto awake = awake_;  // not read in the loop, beside what callers write
  bool slept = false;
  while (counter.load(std::memory_order_acquire) == value) {
    if (std::chrono::steady_clock::now() - start >= awake) {
      counter.wait(value, std::memory_order_acquire);
      slept = true;
    }
  }
  return slept;
}

}  // namespace moe
