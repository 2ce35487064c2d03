#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace moe {

/// Limits MPI's start, which waits for every rank and cannot be interrupted: a thread that, once
/// the limit is over, says on stderr which ranks are missing and ends the process with 124, upon
/// which the launcher ends the job.
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

/// Of this MPI job, the ranks on this machine that are not waiting in its start, with the reason:
/// "rank 1 (process 4711) is stopped". What can be seen from here in /proc: ranks of other machines
/// are named as such.
std::string missing_ranks();

}  // namespace moe
