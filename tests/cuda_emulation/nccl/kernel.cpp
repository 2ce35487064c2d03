#include "tests/cuda_emulation/nccl/kernel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "tests/cuda_emulation/nccl/faults.h"
#include "tests/cuda_emulation/nccl/waiting.h"
#include "tests/cuda_emulation/stream.h"

namespace moelab::cuda_emulation::nccl {
namespace {

/// Streams share these counts, and a race between them must not be hidden by that.
constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

struct Launch {
  NcclKernel kernel;
  std::vector<CallRecord> records;  ///< of the calls
  std::int64_t number = 0;          ///< among the kernels of its communicator
  std::int64_t place = -1;          ///< among those of its device that begin in order; -1: free
};

/// What the device's communicators have launched. The caller holds the order's mutex.
LaunchCounts count_launched(const LaunchOrder& order) {
  LaunchCounts counts{};
  const auto add = [&](std::uint64_t communicator, std::uint64_t other, std::int64_t count) {
    const auto place = static_cast<std::size_t>(counts.entries);
    if (place == counts.entry.size()) return;
    counts.entry[place] = {communicator, other, count};
    ++counts.entries;
  };
  for (const ncclComm* member : order.members) {
    const std::uint64_t name = member->segment.header().name;
    add(name, 0, member->collectives);
    for (int peer = 0; peer < member->size; ++peer) {
      const std::int64_t messages = member->messages[static_cast<std::size_t>(peer)];
      if (messages > 0) add(name, member->peer(peer).identity, messages);
    }
  }
  return counts;
}

/// The count of messages with `other`, or of collectives for 0; -1 where the communicator is not
/// there, or no longer.
std::int64_t count_of(const LaunchCounts& counts, std::uint64_t communicator, std::uint64_t other) {
  std::int64_t count = -1;
  for (std::int32_t i = 0; i < counts.entries; ++i) {
    const LaunchCounts::Entry& entry = counts.entry[static_cast<std::size_t>(i)];
    if (entry.communicator != communicator) continue;
    count = std::max<std::int64_t>(count, 0);
    if (entry.other == other) return entry.count;
  }
  return count;
}

/// Where two ranks made a call at different places among the calls of another communicator that
/// both are in: they could wait for each other for ever on streams that run beside each other.
std::string unlike_order(const ncclComm& comm, const CallRecord& own, const CallRecord& theirs,
                         int peer) {
  const std::uint64_t self_id = comm.self().identity, peer_id = comm.peer(peer).identity;
  for (std::int32_t i = 0; i < own.launched.entries; ++i) {
    const std::uint64_t other = own.launched.entry[static_cast<std::size_t>(i)].communicator;
    if (other == comm.segment.header().name) continue;
    for (const bool messages : {false, true}) {
      const std::int64_t mine = count_of(own.launched, other, messages ? peer_id : 0);
      const std::int64_t others = count_of(theirs.launched, other, messages ? self_id : 0);
      if (mine == others || mine < 0 || others < 0) continue;
      const char* const what = messages ? " messages between them" : " collectives";
      return "in another order: rank " + std::to_string(comm.rank) + " launched it after " +
             std::to_string(mine) + what + " of another communicator, rank " +
             std::to_string(peer) + " after " + std::to_string(others);
    }
  }
  return "";
}

bool same_arguments(const CallRecord& own, const CallRecord& theirs) {
  if (own.type != theirs.type || own.count != theirs.count) return false;
  return is_message(own.op) || (own.op == theirs.op && own.peer == theirs.peer);
}

/// What is wrong where these two meet; empty: nothing.
std::string mismatch(const ncclComm& comm, const CallRecord& own, const CallRecord& theirs,
                     int peer) {
  const auto text = [](const CallRecord& record, int rank) {
    return text_of(record.op, record.type, record.count, record.peer) + " of rank " +
           std::to_string(rank);
  };
  const std::string both = text(own, comm.rank) + " meets " + text(theirs, peer);
  if (!same_arguments(own, theirs)) return both;
  if (own.collectives != theirs.collectives) {
    return both + ": the first was launched after " + std::to_string(own.collectives) +
           " collectives of the communicator, the second after " +
           std::to_string(theirs.collectives);
  }
  const std::string order = unlike_order(comm, own, theirs, peer);
  return order.empty() ? "" : both + " " + order;
}

/// One message of this rank while its kernel runs.
struct Transfer {
  const NcclCall* call;
  const CallRecord* record;
  bool posted = false, matched = false;
  std::int64_t begin = 0, done = 0;  ///< bytes: of the mailbox before it, of it
};

class KernelRun {
 public:
  KernelRun(ncclComm& comm, const Launch& launch)
      : comm_(comm), launch_(launch), waits_(comm, text_of(launch.kernel)) {}

  /// Returns at once where the communicator is aborted.
  void carry_out() {
    LaunchOrder& order = launch_order(comm_.device);
    const bool its_turn = wait_for_turn(order);
    std::int64_t begun = order.in_order.load(kRelaxed);
    while (begun <= launch_.place &&
           !order.in_order.compare_exchange_weak(begun, launch_.place + 1, kRelaxed)) {
    }
    if (!its_turn) return;
    die_if_told(order.first_rank, static_cast<long>(order.begun.fetch_add(1, kRelaxed) + 1));
    const std::vector<NcclCall>& calls = launch_.kernel.calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!is_message(calls[i].op) && !collective(calls[i], launch_.records[i])) return;
    }
    messages();
  }

 private:
  bool wait_for_turn(const LaunchOrder& order) {
    if (launch_.place >= 0 &&
        !waits_.until(
            [&] { return order.in_order >= launch_.place; },
            "a kernel of the same device that was launched before it and has not begun")) {
      return false;
    }
    return waits_.until([&] { return comm_.ended >= launch_.number; },
                        "a kernel of the same communicator that was launched before it");
  }

  template <typename IsLate>
  bool wait_for_peers(const IsLate& is_late) {
    return waits_.until_none([&] {
      std::uint64_t late = 0;
      for (int peer = 0; peer < comm_.size; ++peer) {
        if (is_late(comm_.peer(peer))) late |= std::uint64_t{1} << peer;
      }
      return late;
    });
  }

  bool collective(const NcclCall& call, const CallRecord& record) {
    RankState& self = comm_.self();
    const std::int64_t number = comm_.arrived++;
    const auto turn = static_cast<std::size_t>(number % 2);
    self.record[turn] = record;
    self.arrived = number + 1;
    if (!wait_for_peers([&](const RankState& peer) { return peer.arrived <= number; })) {
      return false;
    }
    for (int peer = 0; peer < comm_.size; ++peer) {
      const std::string why = mismatch(comm_, record, comm_.peer(peer).record[turn], peer);
      if (!why.empty()) return waits_.give_up(ncclInvalidUsage, why);
    }
    return call.op == NcclOp::reduce_scatter ? reduce_scatter(call) : in_chunks(call);
  }

  /// fill() writes this rank's chunk. When those of all ranks are there, use(half) reads them. A
  /// rank fills one half while slower ones still read the other.
  template <typename Fill, typename Use>
  bool chunk(const Fill& fill, const Use& use) {
    const auto half = static_cast<std::size_t>(comm_.chunks % 2);
    fill(comm_.self().chunk[half].data());
    comm_.self().phase = ++comm_.chunks;
    if (!wait_for_peers([&](const RankState& peer) { return peer.phase < comm_.chunks; })) {
      return false;
    }
    use(half);
    return true;
  }

  /// Adds the ranks' chunks in the order of ranks.
  void sum(std::size_t half, std::byte* to, std::int64_t count, ncclDataType_t type) {
    std::memcpy(to, comm_.peer(0).chunk[half].data(), size_of(count, type));
    for (int peer = 1; peer < comm_.size; ++peer) {
      add_to(to, comm_.peer(peer).chunk[half].data(), count, type);
    }
  }

  static std::size_t size_of(std::int64_t count, ncclDataType_t type) {
    return static_cast<std::size_t>(count * bytes_of(type));
  }

  template <typename Step>
  static bool each_chunk(const NcclCall& call, const Step& step) {
    const std::int64_t most = kChunkBytes / bytes_of(call.type);
    for (std::int64_t begin = 0; begin < call.count; begin += most) {
      if (!step(begin * bytes_of(call.type), std::min(most, call.count - begin))) return false;
    }
    return true;
  }

  bool in_chunks(const NcclCall& call) {
    const bool is_root = call.peer == comm_.rank;
    const std::int64_t block = call.count * bytes_of(call.type);
    return each_chunk(call, [&](std::int64_t at, std::int64_t count) {
      const std::size_t bytes = size_of(count, call.type);
      const auto fill = [&](std::byte* own) {
        if (call.op != NcclOp::broadcast || is_root) std::memcpy(own, call.from + at, bytes);
      };
      return chunk(fill, [&](std::size_t half) {
        if (call.op == NcclOp::all_gather) {
          for (int peer = 0; peer < comm_.size; ++peer) {
            std::memcpy(call.to + peer * block + at, comm_.peer(peer).chunk[half].data(), bytes);
          }
        } else if (call.op == NcclOp::broadcast) {
          std::memcpy(call.to + at, comm_.peer(call.peer).chunk[half].data(), bytes);
        } else if (call.op == NcclOp::all_reduce || is_root) {
          sum(half, call.to + at, count, call.type);
        }
      });
    });
  }

  bool reduce_scatter(const NcclCall& call) {
    const std::int64_t block = call.count * bytes_of(call.type);
    for (int owner = 0; owner < comm_.size; ++owner) {
      const bool done = each_chunk(call, [&](std::int64_t at, std::int64_t count) {
        const auto fill = [&](std::byte* own) {
          std::memcpy(own, call.from + owner * block + at, size_of(count, call.type));
        };
        return chunk(fill, [&](std::size_t half) {
          if (owner == comm_.rank) sum(half, call.to + at, count, call.type);
        });
      });
      if (!done) return false;
    }
    return true;
  }

  /// Carries out the messages of the kernel beside each other, those to and from each peer one
  /// after the other.
  bool messages() {
    std::map<std::pair<int, NcclOp>, std::deque<Transfer>> queues;
    const std::vector<NcclCall>& calls = launch_.kernel.calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!is_message(calls[i].op)) continue;
      queues[{calls[i].peer, calls[i].op}].push_back({&calls[i], &launch_.records[i]});
    }
    const auto begin = std::chrono::steady_clock::now();
    std::string why;
    const bool all_came = waits_.until_none([&] {
      const bool receives = std::ranges::any_of(queues, [](const auto& one) {
        return one.first.second == NcclOp::receive && !one.second.empty();
      });
      const bool sends_wait =
          receives && sends_late() &&
          std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2);
      std::uint64_t unfinished = 0;
      for (auto& [key, queue] : queues) {
        const bool waits = sends_wait && key.second == NcclOp::send;
        while (!waits && !queue.empty() && why.empty() && advance(queue.front(), why))
          queue.pop_front();
        if (!queue.empty()) unfinished |= std::uint64_t{1} << key.first;
      }
      return why.empty() ? unfinished : 0;
    });
    return why.empty() ? all_came : waits_.give_up(ncclInvalidUsage, why);
  }

  /// Whether what is received may be there before anything is sent, as for every fourth kernel: so
  /// buffers that a group both fills and sends are found.
  bool sends_late() const {
    const auto draw = seed() + static_cast<std::uint64_t>(3 * launch_.number + comm_.rank);
    return draw % 4 == 0;
  }

  /// Goes on with a message, without waiting; true when it is over. A send is over when its peer
  /// has received all of it, for NCCL promises no room to leave it in.
  bool advance(Transfer& transfer, std::string& why) {
    const NcclCall& call = *transfer.call;
    const bool sends = call.op == NcclOp::send;
    Mailbox& mail = sends ? comm_.segment.mail(comm_.rank, call.peer)
                          : comm_.segment.mail(call.peer, comm_.rank);
    std::int64_t& before =
        (sends ? comm_.sent : comm_.received)[static_cast<std::size_t>(call.peer)];
    const auto turn = static_cast<std::size_t>(before % 2);
    if (!transfer.posted) {
      (sends ? mail.sent : mail.received)[turn] = *transfer.record;
      transfer.begin = sends ? mail.written : mail.read;
      (sends ? mail.sends : mail.receives) = before + 1;
      transfer.posted = true;
    }
    if (!transfer.matched) {
      if ((sends ? mail.receives : mail.sends) <= before) return false;
      const CallRecord& theirs = (sends ? mail.received : mail.sent)[turn];
      why = mismatch(comm_, *transfer.record, theirs, call.peer);
      if (!why.empty()) return false;
      transfer.matched = true;
    }
    const auto total = static_cast<std::int64_t>(size_of(call.count, call.type));
    if (sends ? write(mail, transfer, total) : read(mail, transfer, total)) waits_.progressed();
    if ((sends ? mail.read - transfer.begin : transfer.done) < total) return false;
    ++before;
    return true;
  }

  /// Writes what the ring has room for. False where that is nothing.
  static bool write(Mailbox& mail, Transfer& transfer, std::int64_t total) {
    const std::int64_t room = kMailBytes - (mail.written - mail.read);
    const std::int64_t bytes = std::min(room, total - transfer.done);
    const std::int64_t at = mail.written % kMailBytes;
    const std::int64_t head = std::min(bytes, kMailBytes - at);
    const std::byte* const from = transfer.call->from + transfer.done;
    if (bytes <= 0) return false;
    std::memcpy(mail.ring.data() + at, from, static_cast<std::size_t>(head));
    std::memcpy(mail.ring.data(), from + head, static_cast<std::size_t>(bytes - head));
    transfer.done += bytes;
    mail.written += bytes;
    return true;
  }

  static bool read(Mailbox& mail, Transfer& transfer, std::int64_t total) {
    const std::int64_t bytes = std::min(mail.written - mail.read, total - transfer.done);
    const std::int64_t at = mail.read % kMailBytes;
    const std::int64_t head = std::min(bytes, kMailBytes - at);
    std::byte* const to = transfer.call->to + transfer.done;
    if (bytes <= 0) return false;
    std::memcpy(to, mail.ring.data() + at, static_cast<std::size_t>(head));
    std::memcpy(to + head, mail.ring.data(), static_cast<std::size_t>(bytes - head));
    transfer.done += bytes;
    mail.read += bytes;
    return true;
  }

  ncclComm& comm_;
  const Launch& launch_;
  KernelWaits waits_;
};

/// Counts a kernel as ended when it goes, also where a device that has failed does not run it.
struct Ended {
  explicit Ended(ncclComm& in_comm) : comm(in_comm) {}
  ~Ended() { ++comm.ended; }
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;

  ncclComm& comm;
};

}  // namespace

void launch(ncclComm& comm, NcclKernel kernel) {
  LaunchOrder& order = launch_order(comm.device);
  const std::lock_guard lock(order.mutex);
  Launch launch;
  launch.kernel = std::move(kernel);
  launch.number = comm.launched;
  const LaunchCounts counts = count_launched(order);
  std::int64_t collectives = comm.collectives;
  for (const NcclCall& call : launch.kernel.calls) {
    launch.records.push_back({call.op, call.type, call.count, call.peer, collectives, counts});
    if (is_message(call.op)) {
      ++comm.messages[static_cast<std::size_t>(call.peer)];
    } else {
      ++collectives;
    }
  }
  comm.collectives = collectives;
  const char* const in_order = std::getenv("NCCL_LAUNCH_ORDER_IMPLICIT");
  if (in_order != nullptr && std::string_view(in_order) == "1") launch.place = order.launched++;
  ++comm.launched;
  const cudaStream_t stream = launch.kernel.stream;
  std::string name = text_of(launch.kernel);
  auto ended = std::make_shared<Ended>(comm);
  enqueue(stream, std::move(name), [&order, ended = std::move(ended), launch = std::move(launch)] {
    order.running.fetch_add(1, kRelaxed);
    KernelRun(ended->comm, launch).carry_out();
    order.running.fetch_sub(1, kRelaxed);
  });
}

}  // namespace moelab::cuda_emulation::nccl
