#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>

#include "moe/backend/backend.h"
#include "moe/communicator/add_on_device.h"
#include "moe/communicator/chain.h"
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
    case DType::bf16:
      return ncclBfloat16;
    case DType::i32:
      return ncclInt32;
    case DType::remainder:
      break;  // remainders move through the host alone
  }
  throw std::invalid_argument("NCCL: unknown dtype");
}

/// NCCL would add bf16 in bf16, rounding on every rank.
ncclDataType_t type_of_sums(DType dtype) {
  if (dtype != wide_of(dtype)) {
    throw Unavailable(
        "NCCL adds bf16 in bf16: expected ranks that share no dense matrices (tp = 1), or "
        "precision = \"f32\"");
  }
  return nccl_type(dtype);
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
    check(cudaMemset(token, 0, sizeof(std::int32_t)), "cudaMemset");
    family_.add(member_);
  }

  ~NcclCommunicator() override {
    family_.finish(member_);
    if (family_.remove(member_)) return;
    token_.leak();
    for (DeviceMemory& memory : scratch_) memory.leak();
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
      static_cast<void>(made.release());  // it may still be written to
      throw;
    }
    {
      const std::lock_guard lock(group->member_.mutex);
      group->member_.comm = *made;
    }
    family_.settle(group->member_, ncclSuccess, "ncclCommSplit", call);
    return group;
  }

  bool on_host() const override { return false; }
  bool needs_issue_order() const override { return true; }

 private:
  void carry_out(const collective::AllToAllV& c, const CallContext& call) {
    family_.use_device();
    copy_own(c, call);
    enqueue_group(call, [&](ncclComm_t comm, const auto& keep) {
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
    });
  }

  void carry_out(const collective::AllReduce& c, const CallContext& call) {
    enqueue("ncclAllReduce", call, [&](ncclComm_t comm) {
      return ncclAllReduce(c.from, c.to, c.count, type_of_sums(c.dtype), ncclSum, comm,
                           stream(call));
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
      return ncclReduceScatter(c.from, c.to, c.count, type_of_sums(c.dtype), ncclSum, comm,
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
      return ncclReduce(c.from, c.to, c.count, type_of_sums(c.dtype), ncclSum, c.root, comm,
                        stream(call));
    });
    if (rank != c.root) sent_bytes_ += c.count * bytes_of(c.dtype);
  }

  /// A chain through all ranks is NCCL's own broadcast or reduction, since NCCL knows the machine.
  /// It adds in an order of its own, the same every time.
  void carry_out(const collective::ChainBroadcast& c, const CallContext& call) {
    const int element = bytes_of(c.dtype);
    whole_chains(c, call, [&](const collective::Chain& chain, ncclComm_t comm) {
      std::byte* const data = c.data + chain.begin * element;
      if (chain.after >= 0) sent_bytes_ += chain.count * element;
      return ncclBroadcast(data, data, chain.count, nccl_type(c.dtype), chain.root, comm,
                           stream(call));
    });
    const std::vector<collective::Chain> others = chains_of_some(c);
    const collective::ChainBroadcast rest{{c.data, others, c.dtype}};
    const auto at = [&](const ChainFragment& fragment) {
      return c.data + fragment.begin * element;
    };
    by_steps(chain_messages(rest), rest, &collective::Chain::after, call, at, at,
             [](const auto&) {});
  }

  void carry_out(const collective::ChainReduce& c, const CallContext& call) {
    const int element = bytes_of(c.dtype);
    family_.use_device();
    for (const collective::Chain& chain : c.chains) {
      if (chain.ranks != size || !c.writes(chain) || chain.count == 0) continue;
      // The root has nothing to add: its elements become the sum.
      check(cudaMemsetAsync(c.data + chain.begin * element, 0, chain.count * element, stream(call)),
            "cudaMemsetAsync");
    }
    whole_chains(c, call, [&](const collective::Chain& chain, ncclComm_t comm) {
      std::byte* const data = c.data + chain.begin * element;
      if (chain.before >= 0) sent_bytes_ += chain.count * element;
      return ncclReduce(data, data, chain.count, type_of_sums(c.dtype), ncclSum, chain.root, comm,
                        stream(call));
    });
    const std::vector<collective::Chain> others = chains_of_some(c);
    const collective::ChainReduce rest{{c.data, others, c.dtype}};
    const ChainMessages all = chain_messages(rest);
    // What comes in a step goes on in the next, so two steps' sums are there at a time.
    std::map<int, std::int64_t> sums_of_step;
    for (const ChainFragment& fragment : all.receives) {
      sums_of_step[fragment.step] += fragment.count;
    }
    std::int64_t most = 0;
    for (const auto& [step, count] : sums_of_step) most = std::max(most, count);
    std::byte* const scratch = chain_scratch(2 * most * element);
    std::map<int, std::int64_t> placed;  // elements of the step that have their place
    std::vector<std::byte*> sums;        // that this rank passes on
    std::size_t sent = 0, added = 0;
    const auto passed_on = [&](const ChainFragment& fragment) {
      return others[fragment.chain].before >= 0 && others[fragment.chain].after >= 0;
    };
    const auto own = [&](const ChainFragment& fragment) {
      return c.data + fragment.begin * element;
    };
    by_steps(
        all, rest, &collective::Chain::before, call,
        [&](const ChainFragment& fragment) {
          return passed_on(fragment) ? sums[sent++] : own(fragment);
        },
        [&](const ChainFragment& fragment) {
          if (!passed_on(fragment)) return own(fragment);
          std::int64_t& before = placed[fragment.step];
          sums.push_back(scratch + ((fragment.step & 1) * most + before) * element);
          before += fragment.count;
          return sums.back();
        },
        [&](const ChainFragment& fragment) {
          if (!passed_on(fragment)) return;
          add_on_device(sums[added++], own(fragment), fragment.count, c.dtype, stream(call));
        });
  }

  void carry_out(const collective::ReduceShares& c, const CallContext& call) {
    const ncclDataType_t type = type_of_sums(c.dtype);
    const auto equal = [&](ncclComm_t comm, std::byte* all, std::byte* own, std::int64_t count) {
      return ncclReduceScatter(all, own, count, type, ncclSum, comm, stream(call));
    };
    const auto rest = [&](ncclComm_t comm, std::byte* data, std::int64_t count) {
      return ncclReduce(data, data, count, type, ncclSum, size - 1, comm, stream(call));
    };
    in_shares(c, call, equal, rest);
    for (const ElementRange& array : c.arrays) {
      sent_bytes_ += (array.count - element_share(array, rank, size).count) * bytes_of(c.dtype);
    }
  }

  void carry_out(const collective::GatherShares& c, const CallContext& call) {
    const ncclDataType_t type = nccl_type(c.dtype);
    const auto equal = [&](ncclComm_t comm, std::byte* all, std::byte* own, std::int64_t count) {
      return ncclAllGather(own, all, count, type, comm, stream(call));
    };
    const auto rest = [&](ncclComm_t comm, std::byte* data, std::int64_t count) {
      return ncclBroadcast(data, data, count, type, size - 1, comm, stream(call));
    };
    in_shares(c, call, equal, rest);
    for (const ElementRange& array : c.arrays) {
      sent_bytes_ += element_share(array, rank, size).count * bytes_of(c.dtype) * (size - 1);
    }
  }

  /// Calls on shares, in one group. NCCL's are of equal length: `equal` gets an array and the share
  /// of this rank in it, `rest` the elements that are left over, which are the last rank's.
  template <typename ShareCall, typename Equal, typename Rest>
  void in_shares(const ShareCall& c, const CallContext& call, const Equal& equal,
                 const Rest& rest) {
    const int element = bytes_of(c.dtype);
    enqueue_group(call, [&](ncclComm_t comm, const auto& keep) {
      for (const ElementRange& array : c.arrays) {
        const std::int64_t share = array.count / size, left = array.count % size;
        std::byte* const first = c.data + array.begin * element;
        if (share > 0) keep(equal(comm, first, first + rank * share * element, share));
        if (left > 0) keep(rest(comm, first + share * size * element, left));
      }
    });
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

  /// Enqueues what `add` does as one group, given the communicator and what keeps errors.
  template <typename Add>
  void enqueue_group(const CallContext& call, const Add& add) {
    enqueue("an NCCL group", call, [&](ncclComm_t comm) {
      const ncclResult_t begun = ncclGroupStart();
      if (begun != ncclSuccess) return begun;
      // An open group must be closed whatever happens: the first error is looked at afterwards.
      ncclResult_t first_error = ncclSuccess;
      add(comm, [&](ncclResult_t code) {
        if (first_error == ncclSuccess && code != ncclInProgress) first_error = code;
      });
      const ncclResult_t end = ncclGroupEnd();
      return first_error != ncclSuccess ? first_error : end;
    });
  }

  /// The chains that do not go through all ranks.
  std::vector<collective::Chain> chains_of_some(const collective::ChainCall& c) const {
    std::vector<collective::Chain> some;
    std::ranges::copy_if(c.chains, std::back_inserter(some),
                         [&](const collective::Chain& chain) { return chain.ranks != size; });
    return some;
  }

  /// Enqueues one call for each chain through all ranks, in one group.
  template <typename Enqueue>
  void whole_chains(const collective::ChainCall& c, const CallContext& call,
                    const Enqueue& enqueue_one) {
    if (chains_of_some(c).size() == c.chains.size()) return;
    enqueue_group(call, [&](ncclComm_t comm, const auto& keep) {
      for (const collective::Chain& chain : c.chains) {
        if (chain.ranks == size) keep(enqueue_one(chain, comm));
      }
    });
  }

  /// A group for each step: what a rank passes on has come in the group before. `from` and `to` say
  /// where a fragment is, `arrived` is called for what a group has brought. `sends` is the
  /// neighbour that a rank sends to; it receives from the other one.
  template <typename From, typename To, typename Arrived>
  void by_steps(const ChainMessages& all, const collective::ChainCall& c,
                int collective::Chain::*sends, const CallContext& call, const From& from,
                const To& to, const Arrived& arrived) {
    const auto receives =
        sends == &collective::Chain::after ? &collective::Chain::before : &collective::Chain::after;
    const int element = bytes_of(c.dtype);
    const auto of_step = [](const std::vector<ChainFragment>& fragments, std::size_t& next,
                            int step) {
      const std::size_t begin = next;
      while (next < fragments.size() && fragments[next].step == step) ++next;
      return std::span(fragments).subspan(begin, next - begin);
    };
    std::size_t sent = 0, received = 0;
    while (sent < all.sends.size() || received < all.receives.size()) {
      int step = std::numeric_limits<int>::max();
      if (sent < all.sends.size()) step = std::min(step, all.sends[sent].step);
      if (received < all.receives.size()) step = std::min(step, all.receives[received].step);
      const auto out = of_step(all.sends, sent, step), in = of_step(all.receives, received, step);
      enqueue_group(call, [&](ncclComm_t comm, const auto& keep) {
        for (const ChainFragment& fragment : in) {
          keep(ncclRecv(to(fragment), fragment.count * element, ncclInt8,
                        c.chains[fragment.chain].*receives, comm, stream(call)));
        }
        for (const ChainFragment& fragment : out) {
          sent_bytes_ += fragment.count * element;
          keep(ncclSend(from(fragment), fragment.count * element, ncclInt8,
                        c.chains[fragment.chain].*sends, comm, stream(call)));
        }
      });
      for (const ChainFragment& fragment : in) arrived(fragment);
    }
  }

  /// Memory that stays until the end: freeing waits for all that runs on the device.
  std::byte* chain_scratch(std::int64_t bytes) {
    if (bytes > scratch_bytes_) {
      family_.use_device();
      scratch_bytes_ = std::max(bytes, 2 * scratch_bytes_);
      void* memory = nullptr;
      check(cudaMalloc(&memory, static_cast<std::size_t>(scratch_bytes_)), "cudaMalloc");
      scratch_.emplace_back(memory);
    }
    return scratch_.empty() ? nullptr : static_cast<std::byte*>(scratch_.back().get());
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
  DeviceMemory token_;                 ///< the one i32 that barriers add up
  std::vector<DeviceMemory> scratch_;  ///< of reductions along chains, the newest last
  std::int64_t scratch_bytes_ = 0;     ///< of the newest
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
