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

/// `comm`, where there is one, knows more than the code says. Throws CommunicationError.
void check(ncclResult_t code, ncclComm_t comm, std::string_view call);

/// One communicator of NCCL's and what was enqueued on it last.
struct NcclMember {
  std::vector<int> world_ranks;
  int rank = 0;  ///< within them
  OwnedEvent done = make_event(cudaEventDisableTiming);

  std::mutex mutex;           ///< of every call on `comm`; in non-blocking mode none lasts
  ncclComm_t comm = nullptr;  ///< none before it is made and after it is aborted
  std::string last;           ///< "" where nothing was enqueued yet

  /// "rank 1 with ranks 0, 2"
  std::string name() const;
};

/// The communicators that came from one. They fail together, because a kernel of one that waits for
/// a peer in vain keeps the device from freeing what another one holds. From any thread; a member's
/// calls from one at a time.
class NcclFamily {
 public:
  /// `backend`, whose waits it watches, outlives it.
  NcclFamily(Backend& backend, int device, double time_limit_s);
  ~NcclFamily();
  NcclFamily(const NcclFamily&) = delete;
  NcclFamily& operator=(const NcclFamily&) = delete;

  double time_limit_s() const { return time_limit_s_; }
  /// CUDA keeps the device per host thread, and each stream has its own.
  NcclFamily& use_device();

  void add(NcclMember& member);
  /// False where the device did not let go of it: what frees memory would wait for ever.
  bool remove(NcclMember& member);

  /// Aborts all; the first reason stays.
  void fail(const std::string& why);

  /// What of `body` throws ends the family.
  template <typename Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (const std::exception& error) {
      fail(error.what());
      throw;
    }
  }

  /// One call on a communicator that is still there. Throws CommunicationError where it was aborted.
  template <typename Body>
  ncclResult_t call(NcclMember& member, const Body& body) {
    {
      const std::lock_guard lock(member.mutex);
      if (member.comm != nullptr) return body(member.comm);
    }
    throw_aborted(member);
  }

  /// True when what was begun on it has been done on the host; throws what failed.
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

  /// Waits for what returned `code`; what fails ends the family.
  void settle(NcclMember& member, ncclResult_t code, std::string_view name,
              const CallContext& call);

  /// Ends one communicator: flushed together with its peers, unless the family has failed or this
  /// rank is on its way out, when nobody may come. All ends together share one time limit.
  void finish(NcclMember& member);

 private:
  [[noreturn]] void throw_aborted(const NcclMember& member);
  /// What has been enqueued and has not ended on the device.
  std::string under_way();

  Backend& backend_;
  const int device_;
  const double time_limit_s_;
  const int exceptions_ = std::uncaught_exceptions();
  double end_s_ = 0;  ///< when the first communicator began to end, and the limit

  std::mutex mutex_;  ///< before any member's
  std::vector<NcclMember*> members_;
  std::string failure_;
  bool stuck_ = false;
};

}  // namespace moe
