#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "moe/communicator/nccl_family.h"
#include "moe/communicator/subgroup.h"

/// Ranks with a device each, over NCCL in its non-blocking mode: every call into NCCL returns at
/// once, and this rank asks, with sleeps between, whether it is done. So a peer that never comes
/// ends in a time limit and not in a hang. Sent bytes are exact for all-to-all, which is made of
/// sends and receives. NCCL does not say which algorithm it chose for the others: they count as
/// rings in the order of ranks.
namespace moe {
namespace {

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

std::vector<int> first_ranks(int size) {
  std::vector<int> ranks(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(NcclFamily& family, std::vector<int> world_ranks, int rank)
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

  void run(const collective::Call& what, const CallContext& call) override {
    collective::dispatch(what, size, [&](const auto& one) { carry_out(one, call); });
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    const int self = place_in_subgroup(ranks, rank, size);
    std::vector<int> world_ranks;
    for (const int member : ranks) world_ranks.push_back(member_.world_ranks[member]);
    auto group = std::make_unique<NcclCommunicator>(family_, std::move(world_ranks), self);
    const CallContext call{.time_limit_s = family_.time_limit_s(), .what = "split"};
    // The lowest member is the group's colour. NCCL writes the handle later: the group gets it
    // after that.
    auto made = std::make_unique<ncclComm_t>(nullptr);
    const ncclResult_t code = family_.call(member_, [&](ncclComm_t comm) {
      return ncclCommSplit(comm, ranks[0], rank, made.get(), nullptr);
    });
    try {
      family_.settle(member_, code, "ncclCommSplit", call);
    } catch (...) {
      made.release();  // it may still be written to
      throw;
    }
    {
      const std::lock_guard lock(group->member_.mutex);
      group->member_.comm = *made;
    }
    family_.settle(group->member_, ncclInProgress, "ncclCommSplit", call);
    return group;
  }

  bool on_host() const override { return false; }

 private:
  void carry_out(const collective::AllToAllV& c, const CallContext& call) {
    family_.use_device();
    copy_own(c, call);
    enqueue("ncclSend, ncclRecv", call, [&](ncclComm_t comm) {
      const ncclResult_t begun = ncclGroupStart();
      if (begun != ncclSuccess) return begun;
      // An open group must be closed whatever happens: the first error is looked at afterwards.
      ncclResult_t first_error = ncclSuccess;
      const auto keep = [&](ncclResult_t code) {
        if (first_error == ncclSuccess && code != ncclInProgress) first_error = code;
      };
      for (const Segment& segment : c.receive) {
        if (segment.peer == rank || segment.rows == 0) continue;
        keep(ncclRecv(c.to + segment.begin * c.row_bytes, segment.rows * c.row_bytes, ncclInt8,
                      segment.peer, comm, stream(call)));
      }
      for (const Segment& segment : c.send) {
        if (segment.peer == rank || segment.rows == 0) continue;
        sent_bytes_ += segment.rows * c.row_bytes;
        keep(ncclSend(c.from + segment.begin * c.row_bytes, segment.rows * c.row_bytes, ncclInt8,
                      segment.peer, comm, stream(call)));
      }
      const ncclResult_t end = ncclGroupEnd();
      return first_error != ncclSuccess ? first_error : end;
    });
  }

  void carry_out(const collective::AllReduce& c, const CallContext& call) {
    enqueue("ncclAllReduce", call, [&](ncclComm_t comm) {
      return ncclAllReduce(c.from, c.to, c.count, nccl_type(c.dtype), ncclSum, comm, stream(call));
    });
    sent_bytes_ += 2 * c.count * bytes_of(c.dtype) * (size - 1) / size;
  }

  void carry_out(const collective::AllGather& c, const CallContext& call) {
    enqueue("ncclAllGather", call, [&](ncclComm_t comm) {
      return ncclAllGather(c.from, c.to, c.count, nccl_type(c.dtype), comm, stream(call));
    });
    sent_bytes_ += c.count * bytes_of(c.dtype) * (size - 1);
  }

  void carry_out(const collective::ReduceScatter& c, const CallContext& call) {
    enqueue("ncclReduceScatter", call, [&](ncclComm_t comm) {
      return ncclReduceScatter(c.from, c.to, c.count, nccl_type(c.dtype), ncclSum, comm,
                               stream(call));
    });
    sent_bytes_ += c.count * bytes_of(c.dtype) * (size - 1);
  }

  void carry_out(const collective::Broadcast& c, const CallContext& call) {
    enqueue("ncclBroadcast", call, [&](ncclComm_t comm) {
      return ncclBroadcast(c.from, c.to, c.count, nccl_type(c.dtype), c.root, comm, stream(call));
    });
    const bool last = (rank + 1) % size == c.root;  // hands nothing on
    if (!last) sent_bytes_ += c.count * bytes_of(c.dtype);
  }

  void carry_out(const collective::Reduce& c, const CallContext& call) {
    enqueue("ncclReduce", call, [&](ncclComm_t comm) {
      return ncclReduce(c.from, c.to, c.count, nccl_type(c.dtype), ncclSum, c.root, comm,
                        stream(call));
    });
    if (rank != c.root) sent_bytes_ += c.count * bytes_of(c.dtype);
  }

  void carry_out(const collective::Barrier& c, const CallContext& call) {
    enqueue(c.name, call, [&](ncclComm_t comm) {
      return ncclAllReduce(token_.get(), token_.get(), 1, ncclInt32, ncclSum, comm, stream(call));
    });
    family_.guarded([&] {
      family_.wait_until(
          [&] {
            if (is_ready(cudaEventQuery(member_.done.get()), "cudaEventQuery")) return true;
            family_.is_settled(member_, c.name);
            return false;
          },
          member_, call);
    });
  }

  static cudaStream_t stream(const CallContext& call) {
    return static_cast<cudaStream_t>(call.native_stream);
  }

  /// Calls `body` and returns when NCCL has enqueued its call.
  template <typename Body>
  void enqueue(std::string_view name, const CallContext& call, const Body& body) {
    family_.use_device();
    family_.settle(member_, family_.call(member_, body), name, call);
    const std::lock_guard lock(member_.mutex);
    check(cudaEventRecord(member_.done.get(), stream(call)), "cudaEventRecord");
    member_.last = call.what.empty() ? name : call.what;
  }

  void copy_own(const collective::AllToAllV& c, const CallContext& call) {
    std::size_t i = 0;
    for (const Segment& segment : c.receive) {
      if (segment.peer != rank || segment.rows == 0) continue;
      while (i < c.send.size() && (c.send[i].peer != rank || c.send[i].rows == 0)) ++i;
      if (i == c.send.size() || c.send[i].rows != segment.rows) {
        throw std::invalid_argument(
            fmt::format("all_to_all_v: rank {} expects {} rows from itself and sends {}", rank,
                        segment.rows, i == c.send.size() ? 0 : c.send[i].rows));
      }
      check(cudaMemcpyAsync(c.to + segment.begin * c.row_bytes,
                            c.from + c.send[i].begin * c.row_bytes, segment.rows * c.row_bytes,
                            cudaMemcpyDeviceToDevice, stream(call)),
            "cudaMemcpyAsync");
      ++i;
    }
  }

  NcclFamily& family_;
  NcclMember member_;
  DeviceMemory token_;  ///< the one i32 that barriers add up
};

struct FamilyOwner {
  std::unique_ptr<NcclFamily> family;
};

/// The first of a family, which the others are split off. The family is a base, so that it is made
/// before the communicator and destroyed after it.
class NcclWorld : FamilyOwner, public NcclCommunicator {
 public:
  NcclWorld(std::unique_ptr<NcclFamily> owned, int rank, int size)
      : FamilyOwner{std::move(owned)}, NcclCommunicator(*family, first_ranks(size), rank) {}
};

}  // namespace

bool has_nccl() { return true; }

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, Backend& backend,
                                                     int device, double time_limit_s) {
  // Calls are issued in one order (issue_order.h). This makes kernels of different communicators
  // start in that order and overlap. A user's own setting stays.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
  auto family = std::make_unique<NcclFamily>(backend, device, time_limit_s);
  family->use_device();
  // The id travels as whole words, because only NCCL knows its bytes.
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
