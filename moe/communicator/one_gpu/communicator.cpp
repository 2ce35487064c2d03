#include "moe/communicator/communicator.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "moe/backend/cuda_check.cuh"
#include "moe/backend/cuda_owned.cuh"
#include "moe/communicator/one_gpu/moves.h"
#include "moe/communicator/one_gpu/on_device.h"
#include "moe/communicator/one_gpu/pacer.h"
#include "moe/communicator/subgroup.h"
#include "moe/errors.h"

/// Ranks that are threads of this process and share a GPU (gpu_cluster.h). In a call each rank says
/// where its memory is and when it is ready, reads from the memory of the others what it needs, and
/// says when it has done so. Their host communicator tells them when all have said so, within the
/// limit of the call; then nothing is left but to enqueue. Streams wait only for what has been
/// enqueued already, and for words that the pacer writes, so none waits for ever.
namespace moe {
namespace {

using one_gpu::Moves;
using one_gpu::Pacer;
using one_gpu::Phase;

/// A call with all that it names, since a rank that fails leaves its own while others still read it.
struct StatedCall {
  collective::Call call = collective::Barrier{};
  std::vector<Segment> send, receive;
  std::vector<collective::Chain> chains;
  std::vector<ElementRange> arrays;

  void state(const collective::Call& what) {
    call = what;
    const auto keep = [](auto& all, auto& span) {
      all.assign(span.begin(), span.end());
      span = all;
    };
    std::visit(
        [&](auto& one) {
          if constexpr (requires { one.send; }) keep(send, one.send);
          if constexpr (requires { one.receive; }) keep(receive, one.receive);
          if constexpr (requires { one.chains; }) keep(chains, one.chains);
          if constexpr (requires { one.arrays; }) keep(arrays, one.arrays);
        },
        call);
  }
};

/// What the members of a group share; the last of them frees it. A member writes what is its own
/// before it comes to a barrier, and others read it after that.
struct Members {
  struct One {
    StatedCall stated;
    OwnedEvent ready = make_event(cudaEventDisableTiming);  ///< its memory may be read
    OwnedEvent halfway =
        make_event(cudaEventDisableTiming);                ///< it has ended the first of two phases
    OwnedEvent done = make_event(cudaEventDisableTiming);  ///< it reads no more
    std::uint64_t read = 0;                                ///< a bit for each member that it reads
  };
  explicit Members(std::size_t size) : all(size) {}

  std::vector<One> all;
};

/// What all ranks of the job share.
struct World {
  World(const GpuCluster& cluster, int device) : cluster(cluster), device(device), pacer(cluster) {}

  const GpuCluster cluster;
  const int device;
  Pacer pacer;
};

/// Rank 0 makes it, and all ranks of `host`, which are threads, keep it together.
template <typename Shared, typename Make>
std::shared_ptr<Shared> keep_together(Communicator& host, const CallContext& call,
                                      const Make& make) {
  std::shared_ptr<Shared> shared;
  if (host.rank == 0) shared = make();
  const std::shared_ptr<Shared>* address = &shared;
  std::array<std::int32_t, sizeof address / sizeof(std::int32_t)> words{};
  std::memcpy(words.data(), &address, sizeof address);
  host.broadcast(words.data(), words.size(), DType::i32, 0, call);
  std::memcpy(&address, words.data(), sizeof address);
  if (host.rank > 0) shared = *address;
  host.barrier(call);
  return shared;
}

class GpuClusterCommunicator final : public Communicator {
 public:
  GpuClusterCommunicator(std::unique_ptr<Communicator> host, std::shared_ptr<World> world,
                         std::vector<int> world_ranks, const CallContext& call)
      : Communicator(host->rank, host->size),
        host_(std::move(host)),
        world_(std::move(world)),
        world_ranks_(std::move(world_ranks)) {
    use_device();
    members_ = keep_together<Members>(
        *host_, call, [&] { return std::make_shared<Members>(static_cast<std::size_t>(size)); });
    std::vector<int> node_of;
    for (const int one : world_ranks_) {
      node_of.push_back(world_->cluster.node_of.at(static_cast<std::size_t>(one)));
    }
    place_ = {rank, size, group_nodes(node_of)};
    gate_ = world_->pacer.make_gate();
  }
  ~GpuClusterCommunicator() override { world_->pacer.give_back(gate_); }

  void run(const collective::Call& what, const CallContext& call) override {
    collective::dispatch(what, size, [&](const auto& one) {
      if constexpr (std::is_same_v<std::decay_t<decltype(one)>, collective::Barrier>) {
        host_->barrier(call);
      } else {
        exchange(what, named(call, one.name));
      }
    });
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    place_in_subgroup(ranks, rank, size);
    std::vector<int> world_ranks;
    for (const int member : ranks) {
      world_ranks.push_back(world_ranks_[static_cast<std::size_t>(member)]);
    }
    return std::make_unique<GpuClusterCommunicator>(
        host_->split(ranks), world_, std::move(world_ranks), CallContext{.what = "split"});
  }

  bool on_host() const override { return false; }

 private:
  /// Barriers of the host are named as the call that they are of.
  static CallContext named(CallContext call, std::string_view name) {
    if (call.what.empty()) call.what = name;
    return call;
  }

  void use_device() const { check(cudaSetDevice(world_->device), "cudaSetDevice"); }
  Members::One& member(int of) const { return members_->all[static_cast<std::size_t>(of)]; }

  void exchange(const collective::Call& what, const CallContext& call) {
    use_device();
    const auto stream = static_cast<cudaStream_t>(call.native_stream);
    Members::One& own = member(rank);
    own.stated.state(what);
    record(own.ready, stream);
    host_->barrier(call);

    std::vector<const collective::Call*> calls;
    for (const Members::One& one : members_->all) calls.push_back(&one.stated.call);
    const Moves moves = one_gpu::moves_of(calls, place_);
    own.read = 0;
    for (std::size_t i = 0; i < moves.phases.size(); ++i) {
      const Phase& phase = moves.phases[i];
      own.read |= phase.reads;
      wait_for(phase.reads, i == 0 ? &Members::One::ready : &Members::One::halfway, stream);
      move(phase, stream);
      if (i + 1 == moves.phases.size()) break;
      record(own.halfway, stream);
      host_->barrier(call);
    }
    record(own.done, stream);
    host_->barrier(call);
    std::uint64_t readers = 0;
    for (int other = 0; other < size; ++other) {
      if ((member(other).read >> rank & 1) != 0) readers |= std::uint64_t{1} << other;
    }
    wait_for(readers, &Members::One::done, stream);
    sent_bytes_ += moves.sent_bytes;
  }

  static void record(const OwnedEvent& event, cudaStream_t stream) {
    check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
  }

  void wait_for(std::uint64_t members, OwnedEvent Members::One::*event, cudaStream_t stream) {
    for (int other = 0; other < size; ++other) {
      if ((members >> other & 1) == 0) continue;
      check(cudaStreamWaitEvent(stream, (member(other).*event).get(), 0), "cudaStreamWaitEvent");
    }
  }

  void move(const Phase& phase, cudaStream_t stream) {
    std::vector<Pacer::Message> messages;
    for (const one_gpu::Message& one : phase.messages) {
      messages.push_back({world_ranks_[static_cast<std::size_t>(one.from)],
                          world_ranks_[static_cast<std::size_t>(rank)], one.bytes});
    }
    const bool paced = world_->pacer.depart(gate_, stream, messages);
    for (const one_gpu::Copy& copy : phase.copies) {
      if (world_->cluster.copy_blocks > 0) {
        copy_on_device(copy, world_->cluster.copy_blocks, stream);
      } else {
        check(cudaMemcpyAsync(copy.to, copy.from, static_cast<std::size_t>(copy.bytes),
                              cudaMemcpyDeviceToDevice, stream),
              "cudaMemcpyAsync");
      }
    }
    for (const one_gpu::Sum& sum : phase.sums) sum_on_device(sum, stream);
    if (paced) world_->pacer.hold(gate_, stream);
  }

  std::unique_ptr<Communicator> host_;
  std::shared_ptr<World> world_;
  std::shared_ptr<Members> members_;
  std::vector<int> world_ranks_;
  one_gpu::Place place_;
  Pacer::Gate gate_;
};

}  // namespace

std::unique_ptr<Communicator> make_gpu_cluster_communicator(std::unique_ptr<Communicator> host,
                                                            const GpuCluster& cluster, int device,
                                                            double time_limit_s) {
  if (host->size > GpuCluster::kMostRanks ||
      cluster.node_of.size() != static_cast<std::size_t>(host->size)) {
    throw std::invalid_argument(
        fmt::format("a cluster in one GPU of {} ranks with nodes of {}: at most {} expected",
                    host->size, cluster.node_of.size(), GpuCluster::kMostRanks));
  }
  check(cudaSetDevice(device), "cudaSetDevice");
  const CallContext call{.time_limit_s = time_limit_s, .what = "start of a cluster in one GPU"};
  auto world =
      keep_together<World>(*host, call, [&] { return std::make_shared<World>(cluster, device); });
  std::vector<int> all;
  for (int rank = 0; rank < host->size; ++rank) all.push_back(rank);
  return std::make_unique<GpuClusterCommunicator>(std::move(host), std::move(world), std::move(all),
                                                  call);
}

}  // namespace moe
