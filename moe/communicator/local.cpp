#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/communicator/local_group.h"
#include "moe/communicator/subgroup.h"
#include "moe/communicator/sum.h"
#include "moe/threads.h"

/// Ranks that are threads of one process. In each collective a rank publishes its arguments, meets
/// the others, works on their buffers, and meets them again before the buffers change. The meetings
/// order all memory. What peers read of a rank's buffers counts as sent by that rank.
namespace moe {
namespace {

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(LocalGroup& group, int rank)
      : Communicator(rank, static_cast<int>(group.world_ranks.size())), group_(group) {}

  void run(const collective::Call& what, const CallContext& call) override {
    collective::dispatch(what, size, [&](const auto& one) { carry_out(one, call); });
  }

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    const int self = place_in_subgroup(ranks, rank, size);
    const CallContext call{.what = "split"};
    publish({.name = "split", .ranks = ranks}, call);
    for (int member : ranks) {
      if (!std::ranges::equal(group_.arguments[member].ranks, ranks)) {
        refuse(fmt::format("split: ranks {} and {} name different groups", rank, member));
      }
    }
    meet(call, "split");
    if (ranks[0] == rank) {
      std::vector<int> world_ranks;
      for (int member : ranks) world_ranks.push_back(group_.world_ranks[member]);
      group_.arguments[rank].made = &group_.job.add_group(std::move(world_ranks));
    }
    meet(call, "split");
    LocalGroup& made = *group_.arguments[ranks[0]].made;
    meet(call, "split");
    return std::make_unique<LocalCommunicator>(made, self);
  }

 private:
  void carry_out(const collective::AllToAllV& c, const CallContext& call) {
    publish({.name = c.name, .array = {.from = c.from, .count = c.row_bytes}, .send = c.send},
            call);
    std::vector<std::size_t> next(size, 0);  // by peer: the segment to look at next
    std::string mismatch;
    for (const Segment& segment : c.receive) {
      if (segment.rows == 0) continue;
      check_peer(segment.peer);
      const LocalArguments& peer = group_.arguments[segment.peer];
      std::size_t& i = next[segment.peer];
      while (i < peer.send.size() && (peer.send[i].peer != rank || peer.send[i].rows == 0)) ++i;
      if (i == peer.send.size() || peer.send[i].rows != segment.rows) {
        mismatch =
            fmt::format("all_to_all_v: rank {} expects {} rows from rank {}, which sends {}", rank,
                        segment.rows, segment.peer, i == peer.send.size() ? 0 : peer.send[i].rows);
        break;
      }
      std::memcpy(c.to + segment.begin * c.row_bytes,
                  static_cast<const std::byte*>(peer.array.from) + peer.send[i].begin * c.row_bytes,
                  segment.rows * c.row_bytes);
      ++i;
    }
    meet(call, c.name);
    for (const Segment& segment : c.send) {
      if (segment.peer != rank) sent_bytes_ += segment.rows * c.row_bytes;
    }
    if (!mismatch.empty()) refuse(mismatch);  // now that nobody reads our buffers
  }

  void carry_out(const collective::AllReduce& c, const CallContext& call) {
    publish_array(c, -1, call);
    // Each rank adds up one share of the elements, in everybody's buffer.
    const std::int64_t begin = slice_begin(c.count, {rank, size});
    const std::int64_t n = slice_end(c.count, {rank, size}) - begin;
    std::byte* sum = at(c.to, begin, c.dtype);
    sum_in_order(parts_at(begin, c.dtype), sum, n, c.dtype);
    for (int peer = 0; peer < size && n > 0; ++peer) {
      if (peer == rank) continue;
      std::memcpy(at(group_.arguments[peer].array.to, begin, c.dtype), sum, n * bytes_of(c.dtype));
    }
    meet(call, c.name);
    sent_bytes_ += (c.count - n + (size - 1) * n) * bytes_of(c.dtype);  // their shares, our sum
  }

  void carry_out(const collective::AllGather& c, const CallContext& call) {
    publish_array(c, -1, call);
    for (int peer = 0; peer < size && c.count > 0; ++peer) {
      std::memmove(at(c.to, peer * c.count, c.dtype), group_.arguments[peer].array.from,
                   c.count * bytes_of(c.dtype));
    }
    meet(call, c.name);
    sent_bytes_ += (size - 1) * c.count * bytes_of(c.dtype);
  }

  void carry_out(const collective::ReduceScatter& c, const CallContext& call) {
    publish_array(c, -1, call);
    sum_in_order(parts_at(rank * c.count, c.dtype), c.to, c.count, c.dtype);
    meet(call, c.name);
    sent_bytes_ += (size - 1) * c.count * bytes_of(c.dtype);
  }

  void carry_out(const collective::Broadcast& c, const CallContext& call) {
    publish_array(c, c.root, call);
    if (rank != c.root && c.count > 0) {
      std::memcpy(c.to, group_.arguments[c.root].array.from, c.count * bytes_of(c.dtype));
    }
    meet(call, c.name);
    if (rank == c.root) sent_bytes_ += (size - 1) * c.count * bytes_of(c.dtype);
  }

  void carry_out(const collective::Reduce& c, const CallContext& call) {
    publish_array(c, c.root, call);
    // Each rank adds up one share of the elements, in the root's buffer.
    const std::int64_t begin = slice_begin(c.count, {rank, size});
    const std::int64_t n = slice_end(c.count, {rank, size}) - begin;
    if (n > 0) {
      sum_in_order(parts_at(begin, c.dtype), at(group_.arguments[c.root].array.to, begin, c.dtype),
                   n, c.dtype);
    }
    meet(call, c.name);
    // The others' shares, and our sum unless it is ours to keep.
    sent_bytes_ += (c.count - (rank == c.root ? n : 0)) * bytes_of(c.dtype);
  }

  void carry_out(const collective::ChainBroadcast& c, const CallContext& call) {
    publish_chains(c, call);
    std::string mismatch;
    for (std::size_t i = 0; i < c.chains.size() && mismatch.empty(); ++i) {
      Link root{rank, i};
      while (mismatch.empty() && chain_at(root).before >= 0) {
        root = neighbour(root, &collective::Chain::before, &collective::Chain::after, mismatch);
      }
      if (mismatch.empty() && c.writes(c.chains[i])) {
        std::memcpy(elements_at({rank, i}, c.dtype), elements_at(root, c.dtype),
                    c.chains[i].count * bytes_of(c.dtype));
      }
    }
    end_chains(c, &collective::Chain::after, mismatch, call);
  }

  void carry_out(const collective::ChainReduce& c, const CallContext& call) {
    publish_chains(c, call);
    std::string mismatch;
    for (std::size_t i = 0; i < c.chains.size() && mismatch.empty(); ++i) {
      if (!c.writes(c.chains[i])) continue;
      std::vector<const void*> parts;
      Link link{rank, i};
      while (chain_at(link).after >= 0) {
        link = neighbour(link, &collective::Chain::after, &collective::Chain::before, mismatch);
        if (!mismatch.empty()) break;
        parts.insert(parts.begin(), elements_at(link, c.dtype));
      }
      if (mismatch.empty() && !parts.empty()) {
        sum_in_order(parts, elements_at({rank, i}, c.dtype), c.chains[i].count, c.dtype);
      }
    }
    end_chains(c, &collective::Chain::before, mismatch, call);
  }

  void carry_out(const collective::ReduceShares& c, const CallContext& call) {
    publish_shares(c, c.name, call);
    for (std::size_t i = 0; i < c.arrays.size(); ++i) {
      const ElementRange own = element_share(c.arrays[i], rank, size);
      std::vector<const void*> parts;
      for (int peer = 0; peer < size; ++peer) parts.push_back(share_at(peer, i, rank, c.dtype));
      sum_in_order(parts, at(c.data, own.begin, c.dtype), own.count, c.dtype);
      sent_bytes_ += (c.arrays[i].count - own.count) * bytes_of(c.dtype);
    }
    meet(call, c.name);
  }

  void carry_out(const collective::GatherShares& c, const CallContext& call) {
    publish_shares(c, c.name, call);
    for (std::size_t i = 0; i < c.arrays.size(); ++i) {
      for (int peer = 0; peer < size; ++peer) {
        const ElementRange theirs = element_share(c.arrays[i], peer, size);
        if (peer == rank || theirs.count == 0) continue;
        std::memcpy(at(c.data, theirs.begin, c.dtype), share_at(peer, i, peer, c.dtype),
                    theirs.count * bytes_of(c.dtype));
      }
      sent_bytes_ += (size - 1) * element_share(c.arrays[i], rank, size).count * bytes_of(c.dtype);
    }
    meet(call, c.name);
  }

  void carry_out(const collective::Barrier& c, const CallContext& call) { meet(call, c.name); }

  /// A chain of one rank.
  struct Link {
    int rank = 0;
    std::size_t chain = 0;
  };
  const collective::Chain& chain_at(const Link& link) const {
    return group_.arguments[link.rank].chains[link.chain];
  }
  std::byte* elements_at(const Link& link, DType dtype) const {
    return at(group_.arguments[link.rank].array.to, chain_at(link).begin, dtype);
  }

  template <typename ChainCall>
  void publish_chains(const ChainCall& c, const CallContext& call) {
    publish({.name = c.name, .array = {.to = c.data, .dtype = c.dtype}, .chains = c.chains}, call);
  }

  void publish_shares(const collective::ShareCall& c, std::string_view name,
                      const CallContext& call) {
    std::int64_t count = 0;
    for (const ElementRange& array : c.arrays) count += array.count;
    publish({.name = name,
             .array = {.to = c.data, .count = count, .dtype = c.dtype},
             .arrays = c.arrays},
            call);
    for (int peer = 0; peer < size; ++peer) {
      const auto& theirs = group_.arguments[peer].arrays;
      if (!std::ranges::equal(theirs, c.arrays, {}, &ElementRange::count, &ElementRange::count)) {
        refuse(fmt::format("{}: ranks {} and {} name different arrays", name, rank, peer));
      }
    }
  }

  /// In the `array`-th array of `peer`, the share of `owner`.
  std::byte* share_at(int peer, std::size_t array, int owner, DType dtype) const {
    const LocalArguments& theirs = group_.arguments[peer];
    return at(theirs.array.to, element_share(theirs.arrays[array], owner, size).begin, dtype);
  }

  /// The same chain at the rank that stands there `towards` it; `back` is the way from there.
  Link neighbour(const Link& link, int collective::Chain::*towards, int collective::Chain::*back,
                 std::string& mismatch) const {
    const auto& chains = group_.arguments[link.rank].chains;
    const collective::Chain& own = chains[link.chain];
    const int peer = own.*towards;
    check_peer(peer);
    const auto same = std::ranges::count(chains.first(link.chain), peer, towards);
    const auto& theirs = group_.arguments[peer].chains;
    std::ptrdiff_t before = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      if (theirs[i].*back != link.rank || before++ != same) continue;
      if (theirs[i].count == own.count) return {peer, i};
      break;
    }
    mismatch = fmt::format("chain {} of rank {} with rank {}: {} elements, which has no such chain",
                           link.chain, link.rank, peer, own.count);
    return link;
  }

  /// `sends`: the neighbour that a rank sends to.
  template <typename ChainCall>
  void end_chains(const ChainCall& c, int collective::Chain::*sends, const std::string& mismatch,
                  const CallContext& call) {
    meet(call, c.name);
    for (const collective::Chain& chain : c.chains) {
      if (chain.*sends >= 0) sent_bytes_ += chain.count * bytes_of(c.dtype);
    }
    if (!mismatch.empty()) refuse(mismatch);
  }

  static std::byte* at(void* base, std::int64_t element, DType dtype) {
    return static_cast<std::byte*>(base) + element * bytes_of(dtype);
  }
  static const std::byte* at(const void* base, std::int64_t element, DType dtype) {
    return static_cast<const std::byte*>(base) + element * bytes_of(dtype);
  }

  void meet(const CallContext& call, std::string_view name) { group_.meet(rank, call, name); }

  void publish(const LocalArguments& arguments, const CallContext& call) {
    {
      // After a failed call another rank may still look at what we published for it.
      const std::lock_guard lock(group_.mutex);
      group_.throw_if_failed(rank, call.what.empty() ? arguments.name : call.what);
    }
    group_.arguments[rank] = arguments;
    meet(call, arguments.name);
    for (int peer = 0; peer < size; ++peer) {
      const LocalArguments& theirs = group_.arguments[peer];
      if (!arguments.same_call(theirs)) {
        refuse(fmt::format("rank {} calls {} of {} elements while rank {} calls {} of {}", rank,
                           arguments.name, arguments.array.count, peer, theirs.name,
                           theirs.array.count));
      }
    }
  }

  /// The same for a call on an array.
  template <typename ArrayCall>
  void publish_array(const ArrayCall& c, int root, const CallContext& call) {
    publish({.name = c.name, .array = c, .root = root}, call);
  }

  /// Element `begin` of every rank's `from`, by rank.
  std::vector<const void*> parts_at(std::int64_t begin, DType dtype) const {
    std::vector<const void*> parts;
    for (const LocalArguments& peer : group_.arguments)
      parts.push_back(at(peer.array.from, begin, dtype));
    return parts;
  }

  void check_peer(int peer) const {
    if (peer < 0 || peer >= size) {
      throw std::invalid_argument(fmt::format("rank {} of a group of {} ranks", peer, size));
    }
  }

  [[noreturn]] void refuse(const std::string& message) {
    group_.fail(message);
    throw std::invalid_argument(message);
  }

  LocalGroup& group_;
};

/// One rank that needs nobody; keeps its own job.
class SoloCommunicator : public LocalCommunicator {
 public:
  explicit SoloCommunicator(std::unique_ptr<LocalJob> job)
      : LocalCommunicator(job->add_group({0}), 0), job_(std::move(job)) {}

  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    if (ranks.size() != 1 || ranks[0] != 0) {
      throw std::invalid_argument("split: a group of one rank holds rank 0 alone");
    }
    return make_solo_communicator();
  }

 private:
  std::unique_ptr<LocalJob> job_;
};

}  // namespace

std::unique_ptr<Communicator> make_solo_communicator() {
  return std::make_unique<SoloCommunicator>(std::make_unique<LocalJob>());
}

void run_local_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  if (ranks < 1) throw std::invalid_argument(fmt::format("run_local_ranks: {} ranks", ranks));
  LocalJob job;
  std::vector<int> all(ranks);
  for (int rank = 0; rank < ranks; ++rank) all[rank] = rank;
  LocalGroup& world = job.add_group(all);

  std::mutex mutex;
  std::vector<std::exception_ptr> thrown(ranks);
  std::exception_ptr first;
  {
    std::vector<std::jthread> threads;
    const auto start = [&](int rank) {
      threads.emplace_back([&, rank] {
        try {
          LocalCommunicator communicator(world, rank);
          body(communicator);
        } catch (...) {
          {
            const std::lock_guard lock(mutex);
            thrown[rank] = std::current_exception();
            if (!first) first = thrown[rank];
          }
          job.fail(rank, fmt::format("rank {} ended with an exception", rank));
        }
      });
    };
    for (int rank = 0; rank < ranks; ++rank) {
      try {
        start(rank);
      } catch (const std::system_error& error) {
        job.fail(rank, fmt::format("no thread can be started for rank {}", rank));
        throw_no_thread(fmt::format("rank {}", rank), error.code());
      }
    }
  }
  // A rank that failed inside a call may end after those that it told: its exception is the cause.
  if (job.culprit >= 0 && thrown[job.culprit]) std::rethrow_exception(thrown[job.culprit]);
  if (first) std::rethrow_exception(first);
}

}  // namespace moe
