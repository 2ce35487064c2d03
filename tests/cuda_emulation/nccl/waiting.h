#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda_emulation/nccl/communicator.h"

namespace moelab::cuda_emulation::nccl {

/// How a kernel waits on the device for other ranks, and finds out that they will not come.
class KernelWaits {
 public:
  /// `kernel` names what waits.
  KernelWaits(ncclComm& comm, std::string kernel) : comm_(comm), kernel_(std::move(kernel)) {}

  /// Waits until missing(), a bit for each rank that has not come, is 0. False where the kernel has
  /// to end instead.
  template <typename Missing>
  bool until_none(const Missing& missing) {
    progressed();
    for (std::int64_t turn = 0;; ++turn) {
      const std::uint64_t ranks = missing();
      if (ranks == 0) return true;
      if (comm_.aborted) return false;
      pause(turn);
      if (!is_time_to_look()) continue;
      const Finding finding = look(ranks);
      // They may have come meanwhile, and gone.
      if (finding.text.empty() || (missing() & finding.ranks) == 0) continue;
      return give_up(finding.code, finding.text);
    }
  }

  /// Waits until done(), which depends on `whom`: what must happen on this device before.
  template <typename Done>
  bool until(const Done& done, const std::string& whom) {
    progressed();
    for (std::int64_t turn = 0; !done(); ++turn) {
      if (comm_.aborted) return false;
      pause(turn);
      if (is_time_to_look() && limit_is_over()) {
        return give_up(ncclSystemError, own_name() + " has waited too long for " + whom);
      }
    }
    return true;
  }

  /// The limit counts from here on.
  void progressed() { last_progress_ = Clock::now(); }

  /// Fails all ranks, unless they have failed already, and waits for the abort. Returns false.
  bool give_up(ncclResult_t code, const std::string& text);

  /// "ncclReduce(100 ncclFloat32, root 1) of rank 0"
  std::string own_name() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Finding {
    ncclResult_t code;
    std::string text;     ///< empty: nothing was found
    std::uint64_t ranks;  ///< that it is about
  };

  static void pause(std::int64_t turn);
  bool is_time_to_look();
  bool limit_is_over() const;
  Finding look(std::uint64_t missing);
  std::string find_circle();

  ncclComm& comm_;
  std::string kernel_;
  Clock::time_point last_progress_ = Clock::now(), last_look_ = last_progress_;
  std::vector<int> circle_;               ///< ranks that waited for each other when last looked at
  std::vector<std::int64_t> heartbeats_;  ///< of these, at that time
};

}  // namespace moelab::cuda_emulation::nccl
