#include "tests/cuda_emulation/stream_queue.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/stream.h"
#include "tests/cuda_emulation/thread_sanitizer.h"
#include "tests/cuda_emulation/unwritten.h"

namespace moelab::cuda_emulation {

StreamQueue::StreamQueue(int in_device, std::uint64_t number, bool goes_first)
    : device(in_device),
      first(goes_first),
      lateness_(Random(seed() + (number << 32)).next()),
      number_(number) {}

std::uint64_t StreamQueue::add(std::string name, std::function<void()> work) {
  auto tag = std::make_unique<char>();
  sanitizer_release(tag.get());
  const Unordered unordered;
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(name), std::move(work), std::move(tag)});
  changed_.notify_all();
  return ++added_;
}

void StreamQueue::demand(std::uint64_t place) {
  const Unordered unordered;
  const std::lock_guard lock(mutex_);
  if (place <= demanded_) return;
  demanded_ = place;
  changed_.notify_all();
}

bool StreamQueue::is_done(std::uint64_t place) {
  {
    const Unordered unordered;
    const std::lock_guard lock(mutex_);
    if (done_ < place) return false;
  }
  sanitizer_acquire(&tag_of(place));
  return true;
}

void StreamQueue::wait_until_done(std::uint64_t place) {
  {
    const Unordered unordered;
    std::unique_lock lock(mutex_);
    demanded_ = std::max(demanded_, place);
    changed_.notify_all();
    changed_.wait(lock, [&] { return done_ >= place; });
  }
  sanitizer_acquire(&tag_of(place));
}

std::uint64_t StreamQueue::last_place() {
  const Unordered unordered;
  const std::lock_guard lock(mutex_);
  return added_;
}

bool StreamQueue::is_closing() {
  const Unordered unordered;
  const std::lock_guard lock(mutex_);
  return closing_;
}

void StreamQueue::close() {
  const Unordered unordered;
  const std::lock_guard lock(mutex_);
  closing_ = true;
  changed_.notify_all();
}

std::uint64_t StreamQueue::draw() {
  const Unordered unordered;
  const std::lock_guard lock(mutex_);
  return Random(seed() ^ (number_ << 40) ^ added_).next();
}

void StreamQueue::run() {
  Work work;
  for (std::uint64_t place = 1; take(work); ++place) {
    sanitizer_acquire(work.tag.get());
    carry_out(work);
    work = {};
    sanitizer_release(&tag_of(place));
    const Unordered unordered;
    const std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
}

/// False when the queue is closed and empty.
bool StreamQueue::take(Work& work) {
  const Unordered unordered;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
  if (waiting_.empty()) return false;
  hold_back(lock);
  work = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

/// `done_ + 1` is the place of the work at the front.
void StreamQueue::hold_back(std::unique_lock<std::mutex>& lock) {
  if (order() == Order::first_to_last) return;
  std::chrono::microseconds longest(first ? 50'000 : 2000);
  if (order() == Order::drawn) {
    if (lateness_.below(4) != 0) return;
    longest = std::chrono::microseconds(lateness_.below(first ? 20'000 : 500));
  }
  changed_.wait_for(lock, longest, [&] { return closing_ || demanded_ > done_; });
}

void StreamQueue::carry_out(const Work& work) const {
  if (error_of(device) != cudaSuccess) return;
  try {
    watch_reads(work.name);
    work.body();
    refuse_unwritten();
  } catch (const Refusal& refusal) {
    break_device(device, refusal.code, work.name + ": " + refusal.what());
  } catch (const std::exception& error) {
    break_device(device, cudaErrorLaunchFailure, work.name + ": " + error.what());
  }
}

}  // namespace moelab::cuda_emulation
