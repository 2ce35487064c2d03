#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace moe {

/// Limits MPI's start, which waits for every rank and cannot be interrupted. After the limit a
/// thread says on stderr which ranks are missing and ends the process with 124; the launcher then
/// ends the job.
class StartWatch {
 public:
  explicit StartWatch(double limit_s);
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  void watch(double limit_s);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  std::thread thread_;
};

/// The ranks of this MPI job that do not wait in its start, with the reason: "rank 1 (process 4711)
/// is stopped". The reasons are read from /proc, so ranks of other machines are only named.
std::string missing_ranks();

}  // namespace moe
