#include "moe/communicator/one_gpu/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace moe::one_gpu {
namespace {

std::string_view name_of_call(const collective::Call& call) {
  return std::visit([](const auto& one) -> std::string_view { return one.name; }, call);
}

/// The calls of all members as calls of one kind.
template <typename One>
using Calls = std::vector<const One*>;

template <typename One>
Calls<One> calls_of_kind(std::span<const collective::Call* const> calls, int rank) {
  Calls<One> all;
  for (std::size_t member = 0; member < calls.size(); ++member) {
    all.push_back(std::get_if<One>(calls[member]));
    if (all.back() == nullptr) {
      throw std::invalid_argument(fmt::format("rank {} calls {}, rank {} calls {}", rank, One::name,
                                              member, name_of_call(*calls[member])));
    }
  }
  return all;
}

/// Throws where a member counts otherwise, or in another type.
template <typename One>
void expect_same_arrays(const Calls<One>& all, int rank) {
  const One& mine = *all[static_cast<std::size_t>(rank)];
  for (std::size_t member = 0; member < all.size(); ++member) {
    if (all[member]->count == mine.count && all[member]->dtype == mine.dtype) continue;
    throw std::invalid_argument(fmt::format(
        "{}: rank {} has {} elements of {} bytes, rank {} {} of {}", One::name, rank, mine.count,
        bytes_of(mine.dtype), member, all[member]->count, bytes_of(all[member]->dtype)));
  }
}

template <typename T>
std::byte* at(T* data, std::int64_t element, DType dtype) {
  auto* const begin = const_cast<std::byte*>(static_cast<const std::byte*>(data));
  return begin + element * bytes_of(dtype);
}

/// Adds to a phase; one for each kind of move.
class PhaseOf {
 public:
  explicit PhaseOf(const Place& place) : place_(place) {}

  /// Nothing is copied onto itself.
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes, int source) {
    if (bytes == 0 || to == from) return;
    std::vector<Copy>& copies = phase.copies;
    const bool adjoins = !copies.empty() && copies.back().to + copies.back().bytes == to &&
                         copies.back().from + copies.back().bytes == from;
    if (adjoins && last_source_ == source) {
      copies.back().bytes += bytes;
    } else {
      copies.push_back({to, from, bytes});
    }
    last_source_ = source;
    reads(source);
  }

  /// Adds the part of every member, by node.
  template <typename PartOf>
  void sum(void* to, std::int64_t count, DType dtype, const PartOf& part_of) {
    if (count == 0) return;
    Sum sum{.to = to, .sets = {}, .count = count, .dtype = dtype};
    for (const std::vector<int>& node : place_.nodes.members) {
      std::vector<const void*>& set = sum.sets.emplace_back();
      for (const int member : node) {
        set.push_back(part_of(static_cast<std::size_t>(member)));
        reads(member);
      }
    }
    phase.sums.push_back(std::move(sum));
  }

  void reads(int member) {
    if (member != place_.rank) phase.reads |= std::uint64_t{1} << member;
  }

  void message(int from, std::int64_t bytes) {
    if (from != place_.rank && bytes > 0) phase.messages.push_back({from, bytes});
  }

  /// The messages of a reduction or a gathering whose shares have these bytes by member. Where
  /// members share network cards, each share goes through a card once: members of one place in
  /// their nodes exchange, and pass on inside their node.
  enum class Kind { reduces, gathers };
  template <typename BytesOf>
  void share_messages(Kind kind, const BytesOf& bytes_of_share) {
    const GroupNodes& nodes = place_.nodes;
    const int self = place_.rank;
    if (!nodes.share_cards()) {
      for (int other = 0; other < place_.size; ++other) {
        message(other, bytes_of_share(kind == Kind::reduces ? self : other));
      }
      return;
    }
    const auto own_node = static_cast<std::size_t>(nodes.node[static_cast<std::size_t>(self)]);
    const auto counterpart = [&](const std::vector<int>& node, int of) {
      const auto index = static_cast<std::size_t>(nodes.place[static_cast<std::size_t>(of)]);
      return node[index % node.size()];
    };
    const auto of_place = [&](int member) {
      std::int64_t bytes = 0;
      for (const auto& node : nodes.members) bytes += bytes_of_share(counterpart(node, member));
      return bytes;
    };
    for (std::size_t node = 0; node < nodes.members.size(); ++node) {
      if (node == own_node) continue;
      const int other = counterpart(nodes.members[node], self);
      message(other, bytes_of_share(kind == Kind::reduces ? self : other));
    }
    for (const int other : nodes.members[own_node]) {
      message(other, of_place(kind == Kind::reduces ? self : other));
    }
  }

  Phase phase;

 private:
  const Place& place_;
  int last_source_ = -1;
};
using Kind = PhaseOf::Kind;

Moves one_phase(PhaseOf phase, std::int64_t sent_bytes) {
  return {{std::move(phase.phase)}, sent_bytes};
}

/// The segments of a call that go to a member, or come from it, without those that have no rows.
std::vector<Segment> segments_with(std::span<const Segment> segments, int member) {
  std::vector<Segment> found;
  std::ranges::copy_if(segments, std::back_inserter(found),
                       [&](const Segment& one) { return one.peer == member && one.rows > 0; });
  return found;
}

Moves moves(const Calls<collective::AllToAllV>& all, const Place& place) {
  const collective::AllToAllV& mine = *all[static_cast<std::size_t>(place.rank)];
  PhaseOf phase(place);
  std::int64_t sent = 0;
  for (const Segment& segment : mine.send) {
    if (segment.peer != place.rank) sent += segment.rows * mine.row_bytes;
  }
  for (int step = 0; step < place.size; ++step) {
    const int peer = (place.rank + step) % place.size;
    const collective::AllToAllV& theirs = *all[static_cast<std::size_t>(peer)];
    const auto come = segments_with(mine.receive, peer),
               go = segments_with(theirs.send, place.rank);
    const bool fits = std::ranges::equal(
        come, go, [](const Segment& a, const Segment& b) { return a.rows == b.rows; });
    if (!fits || (!come.empty() && mine.row_bytes != theirs.row_bytes)) {
      const auto rows = [](const std::vector<Segment>& segments) {
        std::int64_t sum = 0;
        for (const Segment& segment : segments) sum += segment.rows;
        return sum;
      };
      throw std::invalid_argument(fmt::format(
          "all_to_all_v: rank {} sends {} segments of {} rows of {} bytes to rank {}, which "
          "expects {} of {} of {}",
          peer, go.size(), rows(go), theirs.row_bytes, place.rank, come.size(), rows(come),
          mine.row_bytes));
    }
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < come.size(); ++i) {
      const std::int64_t length = come[i].rows * mine.row_bytes;
      phase.copy(mine.to + come[i].begin * mine.row_bytes,
                 theirs.from + go[i].begin * mine.row_bytes, length, peer);
      bytes += length;
    }
    phase.message(peer, bytes);
  }
  return one_phase(std::move(phase), sent);
}

Moves moves(const Calls<collective::AllReduce>& all, const Place& place) {
  expect_same_arrays(all, place.rank);
  const collective::AllReduce& mine = *all[static_cast<std::size_t>(place.rank)];
  const ElementRange whole{0, mine.count};
  const auto share = [&](int member) { return element_share(whole, member, place.size); };
  const auto bytes = [&](int member) { return share(member).count * bytes_of(mine.dtype); };
  const std::int64_t own = share(place.rank).begin;
  PhaseOf adds(place), gathers(place);
  adds.sum(at(mine.to, own, mine.dtype), share(place.rank).count, mine.dtype,
           [&](std::size_t member) { return at(all[member]->from, own, mine.dtype); });
  adds.share_messages(Kind::reduces, bytes);
  for (int member = 0; member < place.size; ++member) {
    if (member == place.rank) continue;
    gathers.copy(at(mine.to, share(member).begin, mine.dtype),
                 at(all[static_cast<std::size_t>(member)]->to, share(member).begin, mine.dtype),
                 bytes(member), member);
  }
  gathers.share_messages(Kind::gathers, bytes);
  const std::int64_t sent =
      mine.count * bytes_of(mine.dtype) - bytes(place.rank) + bytes(place.rank) * (place.size - 1);
  return {{std::move(adds.phase), std::move(gathers.phase)}, sent};
}

Moves moves(const Calls<collective::AllGather>& all, const Place& place) {
  expect_same_arrays(all, place.rank);
  const collective::AllGather& mine = *all[static_cast<std::size_t>(place.rank)];
  const std::int64_t bytes = mine.count * bytes_of(mine.dtype);
  PhaseOf phase(place);
  for (int member = 0; member < place.size; ++member) {
    phase.copy(at(mine.to, mine.count * member, mine.dtype),
               at(all[static_cast<std::size_t>(member)]->from, 0, mine.dtype), bytes, member);
  }
  phase.share_messages(Kind::gathers, [&](int) { return bytes; });
  return one_phase(std::move(phase), bytes * (place.size - 1));
}

Moves moves(const Calls<collective::ReduceScatter>& all, const Place& place) {
  expect_same_arrays(all, place.rank);
  const collective::ReduceScatter& mine = *all[static_cast<std::size_t>(place.rank)];
  const std::int64_t bytes = mine.count * bytes_of(mine.dtype);
  PhaseOf phase(place);
  phase.sum(mine.to, mine.count, mine.dtype, [&](std::size_t member) {
    return at(all[member]->from, mine.count * place.rank, mine.dtype);
  });
  phase.share_messages(Kind::reduces, [&](int) { return bytes; });
  return one_phase(std::move(phase), bytes * (place.size - 1));
}

/// Along a ring that begins at the root, as every link then carries the array once.
Moves moves(const Calls<collective::Broadcast>& all, const Place& place) {
  expect_same_arrays(all, place.rank);
  const collective::Broadcast& mine = *all[static_cast<std::size_t>(place.rank)];
  const std::int64_t bytes = mine.count * bytes_of(mine.dtype);
  PhaseOf phase(place);
  if (place.rank != mine.root) {
    phase.copy(at(mine.to, 0, mine.dtype),
               at(all[static_cast<std::size_t>(mine.root)]->from, 0, mine.dtype), bytes, mine.root);
    phase.message((place.rank + place.size - 1) % place.size, bytes);
  }
  const bool is_last = (place.rank + 1) % place.size == mine.root;
  return one_phase(std::move(phase), is_last ? 0 : bytes);
}

/// Along a ring that ends at the root.
Moves moves(const Calls<collective::Reduce>& all, const Place& place) {
  expect_same_arrays(all, place.rank);
  const collective::Reduce& mine = *all[static_cast<std::size_t>(place.rank)];
  const std::int64_t bytes = mine.count * bytes_of(mine.dtype);
  PhaseOf phase(place);
  if (place.rank == mine.root) {
    phase.sum(mine.to, mine.count, mine.dtype,
              [&](std::size_t member) { return all[member]->from; });
  }
  const int before = (place.rank + place.size - 1) % place.size;
  if (before != mine.root) phase.message(before, bytes);
  return one_phase(std::move(phase), place.rank == mine.root ? 0 : bytes);
}

/// Where a chain of this rank is among those of its neighbour: chains between the same two ranks
/// are in the same order at both.
struct ChainAt {
  int member = 0;
  std::size_t index = 0;
};
template <typename One>
ChainAt neighbour(const Calls<One>& all, ChainAt here, int collective::Chain::*towards,
                  int collective::Chain::*back) {
  const auto& chains = all[static_cast<std::size_t>(here.member)]->chains;
  const int other = chains[here.index].*towards;
  std::int64_t nth = 0;
  for (std::size_t i = 0; i < here.index; ++i) nth += chains[i].*towards == other ? 1 : 0;
  const auto& theirs = all[static_cast<std::size_t>(other)]->chains;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (theirs[i].*back != here.member || nth-- > 0) continue;
    if (theirs[i].count == chains[here.index].count) return {other, i};
    break;
  }
  throw std::invalid_argument(
      fmt::format("{}: rank {} has a chain of {} elements with rank {}, which has none of them",
                  One::name, here.member, chains[here.index].count, other));
}

template <typename One>
std::byte* data_of(const Calls<One>& all, ChainAt where) {
  const One& call = *all[static_cast<std::size_t>(where.member)];
  return call.data + call.chains[where.index].begin * bytes_of(call.dtype);
}

Moves moves(const Calls<collective::ChainBroadcast>& all, const Place& place) {
  using collective::Chain;
  const collective::ChainBroadcast& mine = *all[static_cast<std::size_t>(place.rank)];
  PhaseOf phase(place);
  std::int64_t sent = 0;
  for (std::size_t i = 0; i < mine.chains.size(); ++i) {
    const Chain& chain = mine.chains[i];
    const std::int64_t bytes = chain.count * bytes_of(mine.dtype);
    if (chain.after >= 0) sent += bytes;
    if (chain.before < 0 || bytes == 0) continue;
    ChainAt root{place.rank, i};
    while (all[static_cast<std::size_t>(root.member)]->chains[root.index].before >= 0) {
      root = neighbour(all, root, &Chain::before, &Chain::after);
    }
    phase.copy(data_of(all, {place.rank, i}), data_of(all, root), bytes, root.member);
    phase.message(chain.before, bytes);
  }
  return one_phase(std::move(phase), sent);
}

Moves moves(const Calls<collective::ChainReduce>& all, const Place& place) {
  using collective::Chain;
  const collective::ChainReduce& mine = *all[static_cast<std::size_t>(place.rank)];
  PhaseOf phase(place);
  std::int64_t sent = 0;
  for (std::size_t i = 0; i < mine.chains.size(); ++i) {
    const Chain& chain = mine.chains[i];
    const std::int64_t bytes = chain.count * bytes_of(mine.dtype);
    if (chain.before >= 0) sent += bytes;
    if (chain.after >= 0) phase.message(chain.after, bytes);
    if (chain.before >= 0 || chain.after < 0 || bytes == 0) continue;
    std::vector<const void*> parts;  // of all others, from the first
    ChainAt one{place.rank, i};
    while (all[static_cast<std::size_t>(one.member)]->chains[one.index].after >= 0) {
      one = neighbour(all, one, &Chain::after, &Chain::before);
      parts.push_back(data_of(all, one));
      phase.reads(one.member);
    }
    std::ranges::reverse(parts);
    phase.phase.sums.push_back({.to = data_of(all, {place.rank, i}),
                                .sets = {std::move(parts)},
                                .count = chain.count,
                                .dtype = mine.dtype,
                                .rounds_each = true});
  }
  return one_phase(std::move(phase), sent);
}

template <typename One>
void expect_same_shares(const Calls<One>& all, int rank) {
  const One& mine = *all[static_cast<std::size_t>(rank)];
  for (std::size_t member = 0; member < all.size(); ++member) {
    const bool same = all[member]->dtype == mine.dtype &&
                      std::ranges::equal(all[member]->arrays, mine.arrays, std::equal_to<>(),
                                         &ElementRange::count, &ElementRange::count);
    if (same) continue;
    throw std::invalid_argument(
        fmt::format("{}: the arrays of rank {} are not those of rank {}", One::name, rank, member));
  }
}

/// The bytes of the shares that a member has in the arrays.
std::int64_t share_bytes(const collective::ShareCall& call, int member, int ranks) {
  std::int64_t elements = 0;
  for (const ElementRange& array : call.arrays) {
    elements += element_share(array, member, ranks).count;
  }
  return elements * bytes_of(call.dtype);
}

Moves moves(const Calls<collective::ReduceShares>& all, const Place& place) {
  expect_same_shares(all, place.rank);
  const collective::ReduceShares& mine = *all[static_cast<std::size_t>(place.rank)];
  PhaseOf phase(place);
  std::int64_t sent = 0;
  for (std::size_t i = 0; i < mine.arrays.size(); ++i) {
    const ElementRange share = element_share(mine.arrays[i], place.rank, place.size);
    phase.sum(at(mine.data, share.begin, mine.dtype), share.count, mine.dtype,
              [&](std::size_t member) {
                const auto& theirs = *all[member];
                const ElementRange there = element_share(theirs.arrays[i], place.rank, place.size);
                return at(theirs.data, there.begin, mine.dtype);
              });
    sent += (mine.arrays[i].count - share.count) * bytes_of(mine.dtype);
  }
  phase.share_messages(Kind::reduces,
                       [&](int member) { return share_bytes(mine, member, place.size); });
  return one_phase(std::move(phase), sent);
}

Moves moves(const Calls<collective::GatherShares>& all, const Place& place) {
  expect_same_shares(all, place.rank);
  const collective::GatherShares& mine = *all[static_cast<std::size_t>(place.rank)];
  PhaseOf phase(place);
  for (int member = 0; member < place.size; ++member) {
    if (member == place.rank) continue;
    const auto& theirs = *all[static_cast<std::size_t>(member)];
    for (std::size_t i = 0; i < mine.arrays.size(); ++i) {
      const ElementRange here = element_share(mine.arrays[i], member, place.size);
      const ElementRange there = element_share(theirs.arrays[i], member, place.size);
      phase.copy(at(mine.data, here.begin, mine.dtype), at(theirs.data, there.begin, mine.dtype),
                 here.count * bytes_of(mine.dtype), member);
    }
  }
  const auto bytes = [&](int member) { return share_bytes(mine, member, place.size); };
  phase.share_messages(Kind::gathers, bytes);
  return one_phase(std::move(phase), bytes(place.rank) * (place.size - 1));
}

Moves moves(const Calls<collective::Barrier>&, const Place&) { return {}; }

}  // namespace

Moves moves_of(std::span<const collective::Call* const> calls, const Place& place) {
  return std::visit(
      [&](const auto& mine) {
        using One = std::decay_t<decltype(mine)>;
        return moves(calls_of_kind<One>(calls, place.rank), place);
      },
      *calls[static_cast<std::size_t>(place.rank)]);
}

}  // namespace moe::one_gpu
