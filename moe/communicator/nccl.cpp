#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nccl.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "moe/backend/backend.h"
#include "moe/backend/cuda_wait.cuh"
#include "moe/communicator/communicator.h"
#include "moe/errors.h"

/// Ranks with a device each, over NCCL in its non-blocking mode: every call of NCCL's returns at
/// once and is asked, with sleeps between, whether it is done, so that a peer that never comes ends
/// in a time limit and not in a hang. Sent bytes are exact for all-to-all, which is sends and
/// receives; NCCL does not say what algorithm it chose for the others, and they count as rings in
/// the order of ranks.
namespace moe {
namespace {

using moe::check;

void check(ncclResult_t code, ncclComm_t comm, std::string_view call) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  throw CommunicationError(
      fmt::format("{}: {}: {}", call, ncclGetErrorString(code), ncclGetLastError(comm)));
}

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::i32:
      return ncclInt32;
  }
  throw std::invalid_argument("NCCL: unknown dtype");
}

void report(ncclResult_t code, std::string_view call) {
  if (code != ncclSuccess && code != ncclInProgress)
    spdlog::error("{}: {}", call, ncclGetErrorString(code));
}

/// Aborts communicators together: the first one's memory is freed only when the kernels of all have
/// let go of the device. False where that takes too long; it then goes on by itself.
bool abort_together(std::vector<ncclComm_t> comms, int device) {
  if (comms.empty()) return true;
  std::packaged_task<void()> task([comms = std::move(comms), device] {
    if (cudaSetDevice(device) != cudaSuccess) cudaGetLastError();
    report(ncclGroupStart(), "ncclGroupStart");
    for (const ncclComm_t comm : comms) report(ncclCommAbort(comm), "ncclCommAbort");
    report(ncclGroupEnd(), "ncclGroupEnd");
  });
  const std::future<void> done = task.get_future();
  std::thread(std::move(task)).detach();
  return done.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

/// One communicator of NCCL's and what was enqueued on it last.
struct Member {
  std::vector<int> world_ranks;
  int rank = 0;  ///< within them
  OwnedEvent done = make_event(cudaEventDisableTiming);

  std::mutex mutex;           ///< of every call on `comm`; in non-blocking mode none lasts
  ncclComm_t comm = nullptr;  ///< none before it is made and after it is aborted
  std::string last;           ///< "" where nothing was enqueued yet

  /// "rank 1 with ranks 0, 2"
  std::string name() const {
    std::vector<int> others;
    for (const int other : world_ranks)
      if (other != world_ranks[rank]) others.push_back(other);
    if (others.empty()) return fmt::format("rank {} alone", world_ranks[rank]);
    constexpr std::size_t most = 16;
    const bool more = others.size() > most;
    if (more) others.resize(most);
    return fmt::format("rank {} with rank{} {}{}", world_ranks[rank], others.size() == 1 ? "" : "s",
                       fmt::join(others, ", "), more ? ", ..." : "");
  }
};

/// The communicators that came from one. They fail together, because a kernel of one that waits for
/// a peer in vain keeps the device from freeing what another one holds.
class Family {
 public:
  Family(Backend& backend, int device, double time_limit_s)
      : backend_(backend), device_(device), time_limit_s_(time_limit_s) {
    backend_.watch({[this] { return under_way(); },
                    [this] { fail("a wait for the device exceeded its limit"); }});
  }
  ~Family() { backend_.watch({}); }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  double time_limit_s() const { return time_limit_s_; }
  /// CUDA keeps the device per host thread, and each stream has its own.
  Family& use_device() {
    check(cudaSetDevice(device_), "cudaSetDevice");
    return *this;
  }

  void add(Member& member) {
    const std::lock_guard lock(mutex_);
    members_.push_back(&member);
  }
  /// False where the device did not let go of it: what frees memory would wait for ever.
  bool remove(Member& member) {
    const std::lock_guard lock(mutex_);
    std::erase(members_, &member);
    return !stuck_;
  }

  /// Aborts all; the first reason stays.
  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
    std::vector<ncclComm_t> comms;
    for (Member* member : members_) {
      const std::lock_guard member_lock(member->mutex);
      if (member->comm != nullptr) comms.push_back(std::exchange(member->comm, nullptr));
    }
    if (!abort_together(std::move(comms), device_)) stuck_ = true;
  }

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

  /// One call on a communicator that is still there.
  template <typename Body>
  ncclResult_t call(Member& member, const Body& body) {
    {
      const std::lock_guard lock(member.mutex);
      if (member.comm != nullptr) return body(member.comm);
    }
    const std::lock_guard lock(mutex_);
    throw CommunicationError(fmt::format("{}: NCCL was aborted: {}", member.name(), failure_));
  }

  /// True when what was begun on it has been done on the host; throws what failed.
  bool is_settled(Member& member, std::string_view name) {
    ncclResult_t state = ncclSuccess;
    std::string why;
    const ncclResult_t asked = call(member, [&](ncclComm_t comm) {
      const ncclResult_t code = ncclCommGetAsyncError(comm, &state);
      if (code != ncclSuccess) state = code;
      if (state != ncclSuccess && state != ncclInProgress) why = ncclGetLastError(comm);
      return state;
    });
    if (!why.empty() || (asked != ncclSuccess && asked != ncclInProgress))
      throw CommunicationError(
          fmt::format("{}: {}: {}: {}", member.name(), name, ncclGetErrorString(asked), why));
    return asked == ncclSuccess;
  }

  /// Sleeps until done() is true.
  template <typename Done>
  void wait_until(const Done& done, const Member& member, const CallContext& call) {
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

  void settle(Member& member, ncclResult_t code, std::string_view name, const CallContext& call) {
    guarded([&] {
      check(code, nullptr, name);
      if (code == ncclInProgress)
        wait_until([&] { return is_settled(member, name); }, member, call);
    });
  }

  /// Ends one communicator: flushed together with its peers, unless the family has failed or this
  /// rank is on its way out, when nobody may come. All ends together share one time limit.
  void finish(Member& member) {
    if (cudaSetDevice(device_) != cudaSuccess) cudaGetLastError();
    if (std::uncaught_exceptions() > exceptions_) fail("this rank ended with an exception");
    {
      const std::lock_guard lock(member.mutex);
      if (member.comm == nullptr) return;
    }
    try {
      if (end_s_ == 0) end_s_ = steady_clock_s() + time_limit_s_;
      const CallContext left{.time_limit_s = std::max(0.0, end_s_ - steady_clock_s()),
                             .what = "the end of a communicator"};
      settle(member, call(member, ncclCommFinalize), "ncclCommFinalize", left);
      const std::lock_guard lock(member.mutex);
      report(ncclCommDestroy(std::exchange(member.comm, nullptr)), "ncclCommDestroy");
    } catch (const std::exception& error) {
      spdlog::error("{}", error.what());
    }
  }

 private:
  /// What has been enqueued and has not ended on the device.
  std::string under_way() {
    std::vector<std::string> all;
    std::string failed;
    {
      const std::lock_guard lock(mutex_);
      for (Member* member : members_) {
        const std::lock_guard member_lock(member->mutex);
        if (member->comm == nullptr || member->last.empty()) continue;
        ncclResult_t state = ncclSuccess;
        const ncclResult_t code = ncclCommGetAsyncError(member->comm, &state);
        if (code != ncclSuccess || (state != ncclSuccess && state != ncclInProgress)) {
          failed = fmt::format("{}: {}: {}: {}", member->name(), member->last,
                               ncclGetErrorString(code != ncclSuccess ? code : state),
                               ncclGetLastError(member->comm));
          break;
        }
        if (!is_ready(cudaEventQuery(member->done.get()), "cudaEventQuery"))
          all.push_back(fmt::format("{} of {} has not ended", member->last, member->name()));
      }
    }
    if (!failed.empty()) {
      fail(failed);
      throw CommunicationError(failed);
    }
    return fmt::format("{}", fmt::join(all, "; "));
  }

  Backend& backend_;
  const int device_;
  const double time_limit_s_;
  const int exceptions_ = std::uncaught_exceptions();
  double end_s_ = 0;  ///< when the first communicator began to end, and the limit

  std::mutex mutex_;  ///< before any member's
  std::vector<Member*> members_;
  std::string failure_;
  bool stuck_ = false;
};

std::vector<int> first_ranks(int size) {
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(Family& family, std::vector<int> world_ranks, int rank)
      : Communicator(rank, static_cast<int>(world_ranks.size())), family_(family.use_device()) {
    member_.world_ranks = std::move(world_ranks);
    member_.rank = rank;
    void* token = nullptr;
    check(cudaMalloc(&token, sizeof(std::int32_t)), "cudaMalloc");
    token_ = DeviceMemory(token);
    family_.add(member_);
  }

  ~NcclCommunicator() override {
    family_.finish(member_);
    if (!family_.remove(member_)) token_.leak();
  }

  void connect(const ncclUniqueId& id, const CallContext& call) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclResult_t code;
    {
      const std::lock_guard lock(member_.mutex);
      code = ncclCommInitRankConfig(&member_.comm, size, id, rank, &config);
    }
    family_.settle(member_, code, "ncclCommInitRank", call);
  }

  void all_to_all_v(const std::byte* from, std::span<const Segment> send, std::byte* to,
                    std::span<const Segment> receive, std::int64_t row_bytes,
                    const CallContext& call) override {
    family_.use_device();
    copy_own(from, send, to, receive, row_bytes, call);
    enqueue("ncclSend, ncclRecv", call, [&](ncclComm_t comm) {
      const ncclResult_t begun = ncclGroupStart();
      if (begun != ncclSuccess) return begun;
      // An open group must be closed whatever happens: the first error is looked at afterwards.
      ncclResult_t first_error = ncclSuccess;
      const auto keep = [&](ncclResult_t code) {
        if (first_error == ncclSuccess && code != ncclInProgress) first_error = code;
      };
      for (const Segment& segment : receive) {
        if (segment.peer == rank || segment.rows == 0) continue;
        keep(ncclRecv(to + segment.begin * row_bytes, segment.rows * row_bytes, ncclInt8,
                      segment.peer, comm, stream(call)));
      }
      for (const Segment& segment : send) {
        if (segment.peer == rank || segment.rows == 0) continue;
        sent_bytes_ += segment.rows * row_bytes;
        keep(ncclSend(from + segment.begin * row_bytes, segment.rows * row_bytes, ncclInt8,
                      segment.peer, comm, stream(call)));
      }
      const ncclResult_t end = ncclGroupEnd();
      return first_error != ncclSuccess ? first_error : end;
    });
  }

  void all_reduce(void* data, std::int64_t count, DType dtype, const CallContext& call) override {
    enqueue("ncclAllReduce", call, [&](ncclComm_t comm) {
      return ncclAllReduce(data, data, count, nccl_type(dtype), ncclSum, comm, stream(call));
    });
    sent_bytes_ += 2 * count * bytes_of(dtype) * (size - 1) / size;  // ring
  }

  void all_gather(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                  const CallContext& call) override {
    enqueue("ncclAllGather", call, [&](ncclComm_t comm) {
      return ncclAllGather(from, to, count_per_rank, nccl_type(dtype), comm, stream(call));
    });
    sent_bytes_ += count_per_rank * bytes_of(dtype) * (size - 1);  // ring
  }

  void reduce_scatter(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                      const CallContext& call) override {
    enqueue("ncclReduceScatter", call, [&](ncclComm_t comm) {
      return ncclReduceScatter(from, to, count_per_rank, nccl_type(dtype), ncclSum, comm,
                               stream(call));
    });
    sent_bytes_ += count_per_rank * bytes_of(dtype) * (size - 1);  // ring
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 const CallContext& call) override {
    enqueue("ncclBroadcast", call, [&](ncclComm_t comm) {
      return ncclBroadcast(data, data, count, nccl_type(dtype), root, comm, stream(call));
    });
    const bool last = (rank + 1) % size == root;  // of the ring: hands nothing on
    if (!last) sent_bytes_ += count * bytes_of(dtype);
  }

  void barrier(const CallContext& call) override {
    enqueue("barrier", call, [&](ncclComm_t comm) {
      return ncclAllReduce(token_.get(), token_.get(), 1, ncclInt32, ncclSum, comm, stream(call));
    });
    family_.guarded([&] {
      family_.wait_until(
          [&] {
            if (is_ready(cudaEventQuery(member_.done.get()), "cudaEventQuery")) return true;
            family_.is_settled(member_, "barrier");
            return false;
          },
          member_, call);
    });
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    const auto self = std::find(ranks.begin(), ranks.end(), rank);
    if (self == ranks.end() || !std::is_sorted(ranks.begin(), ranks.end()) || ranks[0] < 0 ||
        ranks.back() >= size) {
      throw std::invalid_argument(fmt::format("split: ranks [{}] do not ascend or hold no rank {}",
                                              fmt::join(ranks, ", "), rank));
    }
    std::vector<int> world_ranks;
    for (const int member : ranks) world_ranks.push_back(member_.world_ranks[member]);
    auto group = std::make_unique<NcclCommunicator>(family_, std::move(world_ranks),
                                                    static_cast<int>(self - ranks.begin()));
    const CallContext call{.time_limit_s = family_.time_limit_s(), .what = "split"};
    // The lowest member names the group's colour. NCCL writes the handle at its own time: it is
    // handed over when it is there.
    ncclComm_t made = nullptr;
    const ncclResult_t code = family_.call(member_, [&](ncclComm_t comm) {
      return ncclCommSplit(comm, ranks[0], rank, &made, nullptr);
    });
    family_.settle(member_, code, "ncclCommSplit", call);
    {
      const std::lock_guard lock(group->member_.mutex);
      group->member_.comm = made;
    }
    family_.settle(group->member_, ncclInProgress, "ncclCommSplit", call);
    return group;
  }

  bool on_host() const override { return false; }

 private:
  static cudaStream_t stream(const CallContext& call) {
    return static_cast<cudaStream_t>(call.native_stream);
  }

  /// Returns when NCCL has enqueued what `body` calls.
  template <typename Body>
  void enqueue(std::string_view name, const CallContext& call, const Body& body) {
    family_.use_device();
    family_.settle(member_, family_.call(member_, body), name, call);
    const std::lock_guard lock(member_.mutex);
    check(cudaEventRecord(member_.done.get(), stream(call)), "cudaEventRecord");
    member_.last = call.what.empty() ? name : call.what;
  }

  void copy_own(const std::byte* from, std::span<const Segment> send, std::byte* to,
                std::span<const Segment> receive, std::int64_t row_bytes, const CallContext& call) {
    std::size_t i = 0;
    for (const Segment& segment : receive) {
      if (segment.peer != rank || segment.rows == 0) continue;
      while (i < send.size() && (send[i].peer != rank || send[i].rows == 0)) ++i;
      if (i == send.size() || send[i].rows != segment.rows) {
        throw std::invalid_argument(
            fmt::format("all_to_all_v: rank {} expects {} rows from itself and sends {}", rank,
                        segment.rows, i == send.size() ? 0 : send[i].rows));
      }
      check(cudaMemcpyAsync(to + segment.begin * row_bytes, from + send[i].begin * row_bytes,
                            segment.rows * row_bytes, cudaMemcpyDeviceToDevice, stream(call)),
            "cudaMemcpyAsync");
      ++i;
    }
  }

  Family& family_;
  Member member_;
  DeviceMemory token_;  ///< one i32, for barriers
};

struct FamilyOwner {
  std::unique_ptr<Family> family;
};

/// The first of a family, which the others are split off: a base, so that the family is there
/// before the communicator and after it.
class NcclWorld : FamilyOwner, public NcclCommunicator {
 public:
  NcclWorld(std::unique_ptr<Family> owned, int rank, int size)
      : FamilyOwner{std::move(owned)}, NcclCommunicator(*family, first_ranks(size), rank) {}
};

}  // namespace

bool has_nccl() { return true; }

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, Backend& backend,
                                                     int device, double time_limit_s) {
  // Calls are issued in one order (issue_order.h); this makes kernels of different communicators
  // start in it too, and lets them overlap. Who set it otherwise knows why.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
  auto family = std::make_unique<Family>(backend, device, time_limit_s);
  family->use_device();
  // The id travels as whole words: its bytes mean nothing to anybody but NCCL.
  std::array<std::int32_t, (sizeof(ncclUniqueId) + 3) / 4> words{};
  ncclUniqueId id;
  if (host.rank == 0) {
    check(ncclGetUniqueId(&id), nullptr, "ncclGetUniqueId");
    std::memcpy(words.data(), &id, sizeof id);
  }
  const CallContext call{.time_limit_s = time_limit_s, .what = "NCCL bootstrap"};
  host.broadcast(words.data(), static_cast<std::int64_t>(words.size()), DType::i32, 0, call);
  std::memcpy(&id, words.data(), sizeof id);
  auto communicator = std::make_unique<NcclWorld>(std::move(family), host.rank, host.size);
  communicator->connect(id, call);
  return communicator;
}

}  // namespace moe
