#include "microbench/background.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "moe/run/core_sharing.h"
#include "moe/threads.h"

namespace microbench {
namespace {

/// How long the calls between two marks last: much longer than marks take, and than a device idles
/// until the host has enqueued the next.
constexpr double kBurst_s = 1e-3;
/// The least that the calls of a collective between two agreements last: much longer than those.
constexpr double kShortestRound_s = 0.01;
/// The most. They go on so long after they have been told to stop.
constexpr double kLongestRound_s = 0.2;
constexpr double kMostCallsBeside = 100'000;

int calls_within(double seconds, const Activity& activity) {
  return static_cast<int>(
      std::clamp(std::ceil(seconds / std::max(activity.call_s, 1e-9)), 1.0, kMostCallsBeside));
}

}  // namespace

Background::Background(const Activity& activity, double seconds)
    : activity_(activity), burst_(calls_within(kBurst_s, activity)) {
  if (activity.collective && activity.bench->enqueues) {
    for (int left = calls_within(seconds, activity); left > 0; left -= burst_) issue();
    return;
  }
  const double round_s = std::clamp(seconds, kShortestRound_s, kLongestRound_s);
  const int round = activity.collective ? calls_within(round_s, activity) : 1;
  thread_ = moe::start_thread("a background activity", [this, round] { run(round); });
  begun_.wait(false);
}

Background::~Background() { join(); }

void Background::join() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
}

void Background::issue() {
  moe::Backend& backend = activity_.bench->backend;
  const moe::Mark begin = backend.mark(activity_.subject.stream);
  begun_ = true;
  begun_.notify_one();
  for (int call = 0; call < burst_; ++call) activity_.subject.call();
  marks_.emplace_back(begin, backend.mark(activity_.subject.stream));
}

void Background::run(int round) {
  try {
    moe::share_core_as(activity_.bench->backend, activity_.subject.stream);
    const ThreadUse before = thread_use();
    const auto begin = std::chrono::steady_clock::now();
    do {
      for (int call = 0; call < round; call += burst_) {
        issue();
        // Waits for the burst, so that there is a gap. A device that always has the next copy
        // enqueued may keep the copies of other streams waiting.
        activity_.bench->backend.reach(marks_.back().second);
      }
    } while (goes_on());
    use_ = thread_use() - before;
    length_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  } catch (...) {
    failure_ = std::current_exception();
    begun_ = true;
    begun_.notify_one();
  }
}

bool Background::goes_on() {
  if (!activity_.collective) return !stopped_;
  std::int32_t going = stopped_ ? 0 : 1;
  activity_.world->all_reduce(&going, 1, moe::DType::i32,
                              {.time_limit_s = activity_.bench->sampling.time_limit_s,
                               .what = "interference of " + activity_.name});
  return going > 0;
}

std::vector<db::TimeInterval> Background::stop() {
  join();
  if (failure_) std::rethrow_exception(failure_);
  std::vector<db::TimeInterval> ran;
  for (const auto& [begin, end] : marks_) {
    ran.push_back({activity_.bench->backend.time_of(begin), activity_.bench->backend.time_of(end)});
  }
  return db::merged(std::move(ran));
}

}  // namespace microbench
