#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "moe/communicator/mpi/c_interface.h"

namespace moe {

/// Tells the other ranks of the announced work of this process (announced_work.h), and its launcher
/// once that has asked for the end. It does so again and again, in a thread of its own, so that
/// others know a rank that works from one that is stopped or dead. Work that ends before the thread
/// looks costs nothing.
class WorkTeller {
 public:
  /// `limit_s`: how long ranks may wait for one another; it tells four times in it, and at least
  /// once a second. After limit_s it names the work on stderr.
  WorkTeller(MPI_Comm comm, int rank, int ranks, double limit_s);
  /// As end(); messages may still be under way.
  ~WorkTeller();
  WorkTeller(const WorkTeller&) = delete;
  WorkTeller& operator=(const WorkTeller&) = delete;

  /// Ends the thread. Before MPI_Finalize; the caller does not hold mpi_mutex().
  void end();

 private:
  void run(MPI_Comm comm, int rank, int ranks, double limit_s);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

/// The last word of another rank on its work.
struct ToldWork {
  int rank = 0;
  std::string what;  ///< empty: it works no more
  std::chrono::steady_clock::time_point told_at;
};

/// Takes in what other ranks have told since, and returns the last word of all; none where nobody
/// ever told. The caller holds mpi_mutex().
std::optional<ToldWork> hear_work(MPI_Comm comm);

}  // namespace moe
