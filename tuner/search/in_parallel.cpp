#include "tuner/search/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "moe/threads.h"

namespace tuner {

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work,
                 const std::function<void(std::size_t)>& done) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0};
  std::mutex telling;
  std::size_t ended = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
      const std::scoped_lock one_at_a_time(telling);
      if (done) done(++ended);
    }
  };
  const std::size_t threads = std::min<std::size_t>(
      {count, kMostSearchThreads, std::max(1U, std::thread::hardware_concurrency())});
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.push_back(moe::start_thread("the search", run));
  }
  run();
  for (std::thread& thread : others) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace tuner
