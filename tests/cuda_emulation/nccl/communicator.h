#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/cuda_emulation/nccl/segment.h"

namespace moelab::cuda_emulation::nccl {

/// The kernels of all communicators of one device of this process, in the order of their launch.
struct LaunchOrder {
  std::mutex mutex;  ///< held while a kernel is launched
  std::vector<ncclComm*> members;
  int first_rank = 0;                      ///< in the communicator that came first
  std::int64_t launched = 0;               ///< kernels that begin one after the other
  std::atomic<std::int64_t> in_order = 0;  ///< of these, those that have begun
  std::atomic<std::int64_t> begun = 0;     ///< all kernels that have begun
  std::atomic<std::int64_t> running = 0;   ///< that are on the device, whether or not they wait
};
LaunchOrder& launch_order(int device);

/// What a communicator has still to do for its last call.
struct Pending {
  std::string call;
  int polls = 0;  ///< ncclCommGetAsyncError says ncclInProgress so often at least
  /// Goes on, without waiting. ncclInProgress: there is more to do.
  std::function<ncclResult_t()> advance;
};

}  // namespace moelab::cuda_emulation::nccl

/// One rank of a communicator.
struct ncclComm {
  /// Throws std::runtime_error where the id leads to no memory, or this rank came already.
  ncclComm(const moelab::cuda_emulation::nccl::SegmentPlace& place, int rank, int size, int device,
           bool blocking);
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  const int rank, size, device;
  const bool blocking;
  const moelab::cuda_emulation::nccl::SegmentPlace place;
  moelab::cuda_emulation::nccl::Segment segment;
  std::atomic<bool> in_call = false;  ///< a host thread is in a call on it

  // Used by the host thread that is in a call.
  std::unique_ptr<moelab::cuda_emulation::nccl::Pending> pending;
  bool finalized = false;
  std::uint64_t calls = 0;       ///< that ncclInProgress may have answered
  std::int64_t collectives = 0;  ///< launched
  std::int64_t splits = 0;
  std::vector<std::int64_t> messages;  ///< launched, by peer

  // Used by streams too.
  std::atomic<std::int64_t> launched = 0, ended = 0;  ///< kernels
  std::atomic<bool> aborted = false;

  // Used by the stream whose kernel runs. They follow each other.
  std::int64_t arrived = 0;  ///< collectives
  std::int64_t chunks = 0;
  std::vector<std::int64_t> sent, received;  ///< messages, by peer

  moelab::cuda_emulation::nccl::RankState& peer(int other) const { return segment.rank(other); }
  moelab::cuda_emulation::nccl::RankState& self() const { return segment.rank(rank); }

  /// Keeps the first error, which ncclCommGetAsyncError tells from then on.
  void fail(ncclResult_t code, const std::string& text);
  /// Fails for all ranks, unless one of them has failed before: its error counts then.
  ncclResult_t fail_all(ncclResult_t code, const std::string& text);
  /// The error of this communicator, whichever of its ranks has found it; ncclSuccess before.
  ncclResult_t failure();
  const char* failure_text() const;

 private:
  mutable std::mutex mutex_;
  std::atomic<ncclResult_t> failure_ = ncclSuccess;
  std::string failure_text_;
};

namespace moelab::cuda_emulation::nccl {

bool is_communicator(const ncclComm* comm);

/// Why `other` will not come: it has died, aborted or ended. Empty where nothing is known.
std::string why_gone(const ncclComm& comm, int other);

/// These go on with a call without waiting for peers, and return ncclInProgress until it is done.
/// meet(): all ranks have come to a new communicator.
ncclResult_t meet(ncclComm& comm);
/// begin_split() tells the peers the colour and key, advance_split() writes *made at its end.
std::int64_t begin_split(ncclComm& comm, int color, int key);
ncclResult_t advance_split(ncclComm& comm, std::int64_t number, ncclComm_t* made);
/// This rank's kernels have ended, and all ranks have come to the end.
ncclResult_t advance_end(ncclComm& comm);

}  // namespace moelab::cuda_emulation::nccl
