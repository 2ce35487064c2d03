#pragma once

#include <fmt/format.h>
#include <nccl.h>

#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/backend/cuda_wait.cuh"
#include "moe/communicator/communicator.h"
#include "moe/errors.h"

namespace moe {

/// Throws CommunicationError unless `code` is success. The text of `comm`, where there is one, is
/// added.
void check(ncclResult_t code, ncclComm_t comm, std::string_view call);

/// One NCCL communicator, and the call that was enqueued on it last.
struct NcclMember {
  std::vector<int> world_ranks;
  int rank = 0;  ///< this process among world_ranks
  OwnedEvent done = make_event(cudaEventDisableTiming);

  std::mutex mutex;  ///< held during every call on `comm`; in non-blocking mode calls are short
  ncclComm_t comm = nullptr;  ///< nullptr before NCCL has made it and after it is aborted
  std::string last;           ///< the call that was enqueued last; empty before the first

  /// "rank 1 with ranks 0, 2"
  std::string name() const;
};

/// All communicators that were split off one. They fail together, because a kernel of one that
/// waits in vain for a peer keeps the device from freeing what another one holds. May be used from
/// any thread, each member from one thread at a time.
class NcclFamily {
 public:
  /// Watches the waits of `backend`, which must outlive it.
  NcclFamily(Backend& backend, int device, double time_limit_s);
  ~NcclFamily();
  NcclFamily(const NcclFamily&) = delete;
  NcclFamily& operator=(const NcclFamily&) = delete;

  double time_limit_s() const { return time_limit_s_; }
  /// To be called on each host thread: CUDA keeps the device by thread.
  NcclFamily& use_device();

  void add(NcclMember& member);
  /// False if the device still uses it: freeing memory would then wait for ever.
  bool remove(NcclMember& member);

  /// Aborts all members. The first reason stays.
  void fail(const std::string& why);

  /// Runs `body`; an exception fails the family.
  template <typename Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (const std::exception& error) {
      fail(error.what());
      throw;
    }
  }

  /// Makes a call on a communicator. Throws CommunicationError if it was aborted.
  template <typename Body>
  ncclResult_t call(NcclMember& member, const Body& body) {
    {
      const std::lock_guard lock(member.mutex);
      if (member.comm != nullptr) return body(member.comm);
    }
    throw_aborted(member);
  }

  /// True when the host has done everything that was begun on it. Throws if something failed.
  bool is_settled(NcclMember& member, std::string_view name);

  /// Sleeps until done() is true. Throws TimeLimit.
  template <typename Done>
  void wait_until(const Done& done, const NcclMember& member, const CallContext& call) {
    const double begin_s = steady_clock_s();
    while (!done()) {
      const double waited_s = steady_clock_s() - begin_s;
      if (waited_s > call.time_limit_s) {
        throw TimeLimit(
            fmt::format("{}: waited {} s in {}", member.name(), call.time_limit_s, call.what));
      }
      sleep_after(waited_s);
    }
  }

  /// Waits until the call that returned `code` is done on the host. A failure fails the family.
  /// The communicator is asked even where `code` is ncclSuccess: ncclCommSplit returns it at once.
  void settle(NcclMember& member, ncclResult_t code, std::string_view name,
              const CallContext& call);

  /// Ends one communicator. It is flushed together with its peers, unless the family has failed or
  /// an exception ends this rank, because then peers may not come. All ends share one time limit.
  void finish(NcclMember& member);

 private:
  [[noreturn]] void throw_aborted(const NcclMember& member);
  /// The calls that were enqueued and have not ended on the device.
  std::string under_way();

  Backend& backend_;
  const int device_;
  const double time_limit_s_;
  const int exceptions_ = std::uncaught_exceptions();
  double end_s_ = 0;  ///< when the first communicator began to end, plus the limit

  std::mutex mutex_;  ///< locked before the mutex of any member
  std::vector<NcclMember*> members_;
  std::string failure_;
  bool stuck_ = false;
};

}  // namespace moe
