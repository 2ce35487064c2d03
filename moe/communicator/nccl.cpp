#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nccl.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "moe/communicator/communicator.h"
#include "moe/errors.h"

/// Ranks with a device each, over NCCL in its non-blocking mode: every call of NCCL's returns at
/// once and is asked, with sleeps between, whether it is done, so that a peer that never comes ends
/// in a time limit and not in a hang. Sent bytes are exact for all-to-all, which is sends and
/// receives; NCCL does not say what algorithm it chose for the others, and they count as rings in
/// the order of ranks.
namespace moe {
namespace {

void check(cudaError_t code, std::string_view call) {
  if (code != cudaSuccess) {
    throw CommunicationError(fmt::format("{}: {}", call, cudaGetErrorString(code)));
  }
}

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

/// Sleeps until done() is true. Throws TimeLimit.
template <typename Done>
void wait_until(const Done& done, const CallContext& call, int rank, int size) {
  using namespace std::chrono_literals;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::microseconds sleep = 20us;
  while (!done()) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
        call.time_limit_s) {
      throw TimeLimit(fmt::format("rank {} waited {} s for some of the other {} ranks in {}", rank,
                                  call.time_limit_s, size - 1, call.what));
    }
    std::this_thread::sleep_for(sleep);
    sleep = std::min<std::chrono::microseconds>(sleep * 2, 500us);
  }
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(int rank, int size, int device) : Communicator(rank, size), device_(device) {
    check(cudaSetDevice(device_), "cudaSetDevice");
  }

  ~NcclCommunicator() override {
    if (token_ != nullptr) report(cudaFree(token_), "cudaFree");
    if (comm_ == nullptr) return;
    if (failed_) {
      report(ncclCommAbort(comm_), "ncclCommAbort");
      return;
    }
    try {
      settle(ncclCommFinalize(comm_), "ncclCommFinalize", {.what = "ncclCommFinalize"});
      report(ncclCommDestroy(comm_), "ncclCommDestroy");
    } catch (const std::exception& error) {
      spdlog::error("{}", error.what());
      report(ncclCommAbort(comm_), "ncclCommAbort");
    }
  }

  void connect(const ncclUniqueId& id, const CallContext& call) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    settle(ncclCommInitRankConfig(&comm_, size, id, rank, &config), "ncclCommInitRank", call);
    check(cudaMalloc(&token_, sizeof(std::int32_t)), "cudaMalloc");
  }

  void all_to_all_v(const std::byte* from, std::span<const Segment> send, std::byte* to,
                    std::span<const Segment> receive, std::int64_t row_bytes,
                    const CallContext& call) override {
    copy_own(from, send, to, receive, row_bytes, call);
    check(ncclGroupStart(), comm_, "ncclGroupStart");
    // An open group must be closed whatever happens: the first error is looked at afterwards.
    ncclResult_t first_error = ncclSuccess;
    const auto keep = [&](ncclResult_t code) {
      if (first_error == ncclSuccess && code != ncclInProgress) first_error = code;
    };
    for (const Segment& segment : receive) {
      if (segment.peer == rank || segment.rows == 0) continue;
      keep(ncclRecv(to + segment.begin * row_bytes, segment.rows * row_bytes, ncclInt8,
                    segment.peer, comm_, stream(call)));
    }
    for (const Segment& segment : send) {
      if (segment.peer == rank || segment.rows == 0) continue;
      sent_bytes_ += segment.rows * row_bytes;
      keep(ncclSend(from + segment.begin * row_bytes, segment.rows * row_bytes, ncclInt8,
                    segment.peer, comm_, stream(call)));
    }
    const ncclResult_t end = ncclGroupEnd();
    guarded([&] { check(first_error, comm_, "ncclSend or ncclRecv"); });
    settle(end, "ncclGroupEnd", call);
  }

  void all_reduce(void* data, std::int64_t count, DType dtype, const CallContext& call) override {
    settle(ncclAllReduce(data, data, count, nccl_type(dtype), ncclSum, comm_, stream(call)),
           "ncclAllReduce", call);
    sent_bytes_ += 2 * count * bytes_of(dtype) * (size - 1) / size;  // ring
  }

  void all_gather(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                  const CallContext& call) override {
    settle(ncclAllGather(from, to, count_per_rank, nccl_type(dtype), comm_, stream(call)),
           "ncclAllGather", call);
    sent_bytes_ += count_per_rank * bytes_of(dtype) * (size - 1);  // ring
  }

  void reduce_scatter(const void* from, void* to, std::int64_t count_per_rank, DType dtype,
                      const CallContext& call) override {
    settle(
        ncclReduceScatter(from, to, count_per_rank, nccl_type(dtype), ncclSum, comm_, stream(call)),
        "ncclReduceScatter", call);
    sent_bytes_ += count_per_rank * bytes_of(dtype) * (size - 1);  // ring
  }

  void broadcast(void* data, std::int64_t count, DType dtype, int root,
                 const CallContext& call) override {
    settle(ncclBroadcast(data, data, count, nccl_type(dtype), root, comm_, stream(call)),
           "ncclBroadcast", call);
    const bool last = (rank + 1) % size == root;  // of the ring: hands nothing on
    if (!last) sent_bytes_ += count * bytes_of(dtype);
  }

  void barrier(const CallContext& call) override {
    settle(ncclAllReduce(token_, token_, 1, ncclInt32, ncclSum, comm_, stream(call)),
           "ncclAllReduce", call);
    guarded([&] {
      wait_until(
          [&] {
            const cudaError_t code = cudaStreamQuery(stream(call));
            if (code == cudaErrorNotReady) {
              throw_if_failed("barrier");
              return false;
            }
            check(code, "cudaStreamQuery");
            return true;
          },
          call, rank, size);
    });
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    const auto self = std::find(ranks.begin(), ranks.end(), rank);
    if (self == ranks.end() || !std::is_sorted(ranks.begin(), ranks.end())) {
      throw std::invalid_argument(fmt::format("split: ranks [{}] do not ascend or hold no rank {}",
                                              fmt::join(ranks, ", "), rank));
    }
    auto group = std::make_unique<NcclCommunicator>(static_cast<int>(self - ranks.begin()),
                                                    static_cast<int>(ranks.size()), device_);
    const CallContext call{.what = "split"};
    // The lowest member names the group's colour.
    settle(ncclCommSplit(comm_, ranks[0], rank, &group->comm_, nullptr), "ncclCommSplit", call);
    group->settle(ncclInProgress, "ncclCommSplit", call);
    check(cudaMalloc(&group->token_, sizeof(std::int32_t)), "cudaMalloc");
    return group;
  }

  bool on_host() const override { return false; }

 private:
  static cudaStream_t stream(const CallContext& call) {
    return static_cast<cudaStream_t>(call.native_stream);
  }

  static void report(cudaError_t code, std::string_view call) {
    if (code != cudaSuccess) spdlog::error("{}: {}", call, cudaGetErrorString(code));
  }
  static void report(ncclResult_t code, std::string_view call) {
    if (code != ncclSuccess && code != ncclInProgress) {
      spdlog::error("{}: {}", call, ncclGetErrorString(code));
    }
  }

  template <typename Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  /// Waits until what `code` began has been enqueued.
  void settle(ncclResult_t code, std::string_view name, const CallContext& call) {
    guarded([&] {
      check(code, comm_, name);
      if (code == ncclSuccess) return;
      wait_until(
          [&] {
            ncclResult_t state = ncclSuccess;
            check(ncclCommGetAsyncError(comm_, &state), comm_, "ncclCommGetAsyncError");
            check(state, comm_, name);
            return state == ncclSuccess;
          },
          call, rank, size);
    });
  }

  void throw_if_failed(std::string_view name) {
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &state), comm_, "ncclCommGetAsyncError");
    check(state, comm_, name);
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

  const int device_;
  ncclComm_t comm_ = nullptr;
  void* token_ = nullptr;  ///< one i32 on the device, for barriers
  bool failed_ = false;
};

}  // namespace

bool has_nccl() { return true; }

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, int device) {
  // The id travels as whole words: its bytes mean nothing to anybody but NCCL.
  std::array<std::int32_t, (sizeof(ncclUniqueId) + 3) / 4> words{};
  ncclUniqueId id;
  if (host.rank == 0) {
    check(ncclGetUniqueId(&id), nullptr, "ncclGetUniqueId");
    std::memcpy(words.data(), &id, sizeof id);
  }
  const CallContext call{.what = "NCCL bootstrap"};
  host.broadcast(words.data(), static_cast<std::int64_t>(words.size()), DType::i32, 0, call);
  std::memcpy(&id, words.data(), sizeof id);
  auto communicator = std::make_unique<NcclCommunicator>(host.rank, host.size, device);
  communicator->connect(id, call);
  return communicator;
}

}  // namespace moe
