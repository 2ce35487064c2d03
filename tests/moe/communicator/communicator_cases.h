#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/rows/element_share.h"

/// One table of cases for every host communicator: threads (communicator_test.cpp) and processes
/// (communicator_mpi_main.cpp). Each check runs on all ranks of `world` and compares with what one
/// rank works out by itself.
namespace moe::cases {

/// Empty, one, odd, and large; `large_counts` take several fragments of a pipelined algorithm.
inline const std::vector<std::int64_t> small_counts = {0, 1, 3, 7, 1001, 20'011};
inline const std::vector<std::int64_t> large_counts = {300'007, 1'100'003};

/// Values whose sums no order of adding changes: small integers.
template <typename T>
T value(int rank, std::int64_t i) {
  return static_cast<T>((i * 7 + rank * 31) % 64 - 20);
}

template <typename T>
std::vector<T> values(int rank, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> result(count);
  for (std::int64_t i = 0; i < count; ++i) result[i] = value<T>(rank, first + i);
  return result;
}

template <typename T>
std::vector<T> sums(int ranks, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> result(count, 0);
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::int64_t i = 0; i < count; ++i) result[i] += value<T>(rank, first + i);
  }
  return result;
}

inline CallContext call(std::string what, double time_limit_s = 60) {
  return {.time_limit_s = time_limit_s, .what = std::move(what)};
}

template <typename T>
void check_typed(Communicator& world, DType dtype, std::int64_t count) {
  const int n = world.size, rank = world.rank;
  SCOPED_TRACE(testing::Message() << "rank " << rank << " of " << n << ", " << count
                                  << " elements of type " << static_cast<int>(dtype));
  auto data = values<T>(rank, count);
  world.all_reduce(data.data(), count, dtype, call("all_reduce"));
  EXPECT_EQ(data, sums<T>(n, count));

  const auto own = values<T>(rank, count);
  std::vector<T> all(count * n, T(-99));
  world.all_gather(own.data(), all.data(), count, dtype, call("all_gather"));
  std::vector<T> expected;
  for (int peer = 0; peer < n; ++peer) {
    const auto theirs = values<T>(peer, count);
    expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  EXPECT_EQ(all, expected);

  const auto blocks = values<T>(rank, count * n);
  std::vector<T> share(count, T(-99));
  world.reduce_scatter(blocks.data(), share.data(), count, dtype, call("reduce_scatter"));
  EXPECT_EQ(share, sums<T>(n, count, rank * count));

  for (int root : {0, n / 2, n - 1}) {
    auto message = values<T>(rank, count);
    world.broadcast(message.data(), count, dtype, root, call("broadcast"));
    EXPECT_EQ(message, values<T>(root, count)) << "root " << root;

    std::vector<T> sum(count, T(-99));
    world.reduce(own.data(), sum.data(), count, dtype, root, call("reduce"));
    EXPECT_EQ(sum, rank == root ? sums<T>(n, count) : std::vector<T>(count, T(-99)));
    message = own;  // in place
    world.reduce(message.data(), message.data(), count, dtype, root, call("reduce"));
    EXPECT_EQ(message, rank == root ? sums<T>(n, count) : own) << "root " << root;
  }
}

/// Arrays of `count`, 1 and 2 `count` elements that lie apart; every rank has its share of each.
template <typename T>
void check_shares(Communicator& world, DType dtype, std::int64_t count) {
  const int n = world.size, rank = world.rank;
  SCOPED_TRACE(testing::Message() << "rank " << rank << " of " << n << ", arrays of " << count);
  const std::vector<ElementRange> arrays{{2, count}, {count + 5, 1}, {count + 7, 2 * count}};
  const std::int64_t total = 3 * count + 9;
  const auto for_shares_of = [&](int owner, const auto& body) {
    for (const ElementRange& array : arrays) {
      const ElementRange share = element_share(array, owner, n);
      for (std::int64_t i = share.begin; i < share.begin + share.count; ++i) {
        body(static_cast<std::size_t>(i));
      }
    }
  };
  const auto bytes = [](std::vector<T>& data) { return reinterpret_cast<std::byte*>(data.data()); };
  std::vector<T> data = values<T>(rank, total);
  const std::vector<T> whole = sums<T>(n, total);
  world.reduce_shares(bytes(data), arrays, dtype, call("reduce_shares"));
  std::vector<T> reduced, wanted;
  for_shares_of(rank, [&](std::size_t i) {
    reduced.push_back(data[i]);
    wanted.push_back(whole[i]);
  });
  EXPECT_EQ(reduced, wanted);

  std::vector<T> gathered(static_cast<std::size_t>(total), T(-99)), expected = gathered;
  const std::vector<T> own = values<T>(rank, total);
  for_shares_of(rank, [&](std::size_t i) { gathered[i] = own[i]; });
  world.gather_shares(bytes(gathered), arrays, dtype, call("gather_shares"));
  for (int owner = 0; owner < n; ++owner) {
    const std::vector<T> theirs = values<T>(owner, total);
    for_shares_of(owner, [&](std::size_t i) { expected[i] = theirs[i]; });
  }
  EXPECT_EQ(gathered, expected);
}

/// Floats whose sum depends on the order: all ranks must get the bits of adding the ranks of each
/// node in rank order, then the nodes, in the order of their first ranks.
inline void check_order_of_sums(Communicator& world, const std::vector<int>& node_of) {
  for (std::int64_t count : {5, 2000, 70'000, 1'100'003}) {
    const auto part = [&](int rank) {
      std::vector<float> data(count);
      for (std::int64_t i = 0; i < count; ++i) {
        data[i] = 1.0f / static_cast<float>(1 + i + 3 * rank);
      }
      return data;
    };
    const auto add = [&](std::vector<float>& sum, const std::vector<float>& addend) {
      if (sum.empty()) sum.assign(count, -0.0f);  // which changes no value that is added to it
      for (std::int64_t i = 0; i < count; ++i) sum[i] += addend[i];
    };
    std::vector<int> order;  // nodes
    for (const int node : node_of) {
      if (std::ranges::find(order, node) == order.end()) order.push_back(node);
    }
    std::vector<float> expected;
    for (const int node : order) {
      std::vector<float> of_node;
      for (int rank = 0; rank < world.size; ++rank) {
        if (node_of[rank] == node) add(of_node, part(rank));
      }
      add(expected, of_node);
    }
    const auto equal = [&](const float* sum, const std::vector<float>& want) {
      return std::memcmp(sum, want.data(), want.size() * sizeof(float)) == 0;
    };
    const int root = world.size / 2;
    std::vector<float> sum(world.rank == root ? count : 0);  // the others need none
    auto data = part(world.rank);
    world.reduce(data.data(), sum.data(), count, DType::f32, root, call("reduce"));
    if (world.rank == root) {
      EXPECT_TRUE(equal(sum.data(), expected)) << "reduce of " << count;
    }
    const std::int64_t share = count / world.size;
    std::vector<float> mine(share);
    world.reduce_scatter(data.data(), mine.data(), share, DType::f32, call("reduce_scatter"));
    EXPECT_TRUE(equal(expected.data() + world.rank * share, mine)) << "reduce_scatter of " << count;
    std::vector<float> shared = data;
    const ElementRange all{0, count}, own = element_share(all, world.rank, world.size);
    world.reduce_shares(reinterpret_cast<std::byte*>(shared.data()), {&all, 1}, DType::f32,
                        call("reduce_shares"));
    EXPECT_EQ(std::memcmp(shared.data() + own.begin, expected.data() + own.begin,
                          static_cast<std::size_t>(own.count) * sizeof(float)),
              0)
        << "reduce_shares of " << count;
    world.all_reduce(data.data(), count, DType::f32, call("all_reduce"));
    EXPECT_TRUE(equal(data.data(), expected)) << "all_reduce of " << count;
  }
}

/// Rows of 3 floats; from `source` to `target` go `segments` fragments of uneven length, some
/// empty, which the target stores in reverse order of sources with a gap between.
inline void check_all_to_all_v(Communicator& world, int segments, std::int64_t scale) {
  SCOPED_TRACE(testing::Message() << "rank " << world.rank << ", " << segments
                                  << " segments, scale " << scale);
  constexpr int columns = 3;
  const auto rows_of = [&](int source, int target, int i) {
    return (source * 3 + target * 5 + i * 2) % 4 * scale;
  };
  const auto element = [](int source, int target, int i, std::int64_t k) {
    return static_cast<float>(source * 1'000'003 % 971 + target * 101 + i * 13 + k % 1000);
  };
  std::vector<Segment> send, receive;
  std::vector<float> from;
  for (int i = 0; i < segments; ++i) {  // by fragment, then peer: segments of a peer do not touch
    for (int peer = 0; peer < world.size; ++peer) {
      const std::int64_t rows = rows_of(world.rank, peer, i);
      send.push_back({peer, static_cast<std::int64_t>(from.size()) / columns, rows});
      for (std::int64_t k = 0; k < rows * columns; ++k) {
        from.push_back(element(world.rank, peer, i, k));
      }
    }
  }
  std::int64_t place = 1;
  std::vector<float> expected(columns, -1.0f);
  for (int peer = world.size - 1; peer >= 0; --peer) {
    for (int i = 0; i < segments; ++i) {
      const std::int64_t rows = rows_of(peer, world.rank, i);
      receive.push_back({peer, place, rows});
      place += rows + 1;
      for (std::int64_t k = 0; k < rows * columns; ++k) {
        expected.push_back(element(peer, world.rank, i, k));
      }
      expected.insert(expected.end(), columns, -1.0f);
    }
  }
  std::vector<float> to(expected.size(), -1.0f);
  world.all_to_all_v(reinterpret_cast<const std::byte*>(from.data()), send,
                     reinterpret_cast<std::byte*>(to.data()), receive, columns * sizeof(float),
                     call("all_to_all"));
  EXPECT_EQ(to, expected);
}

/// The chains of a test: one from every rank through all others, one from every rank to the next,
/// one through every second rank, one without elements, and many short ones that go the same way at the same time. Chain c has elements
/// [begin, begin + count) of everybody's data.
struct TestChains {
  std::vector<std::vector<int>> ranks;  ///< [chain]: the root and those after it
  std::vector<std::int64_t> begins, counts;
  std::int64_t elements = 0;
};
inline TestChains test_chains(int ranks, std::int64_t count) {
  TestChains all;
  const auto add = [&](std::vector<int> chain, std::int64_t elements) {
    all.begins.push_back(all.elements + 1);
    all.counts.push_back(elements);
    all.elements += elements + 2;
    all.ranks.push_back(std::move(chain));
  };
  for (int root = 0; root < ranks; ++root) {
    std::vector<int> round, second;
    for (int step = 0; step < ranks; ++step) {
      round.push_back((root + step) % ranks);
      if (step % 2 == 0 && (root + step) < ranks) second.push_back(root + step);
    }
    add(round, count + root);
    add({root, (root + 1) % ranks}, count / 3);
    add(second, 2 * count);
    add(round, 0);
    for (int i = 0; i < 12; ++i) add(round, 2);
  }
  return all;
}
inline std::vector<collective::Chain> chains_of(const TestChains& all, int rank) {
  std::vector<collective::Chain> chains;
  for (std::size_t c = 0; c < all.ranks.size(); ++c) {
    const std::vector<int>& ranks = all.ranks[c];
    if (ranks.size() < 2 || ranks[0] == ranks[1]) continue;
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      if (ranks[place] != rank) continue;
      chains.push_back({place == 0 ? -1 : ranks[place - 1],
                        place + 1 == ranks.size() ? -1 : ranks[place + 1], static_cast<int>(place),
                        static_cast<int>(ranks.size()), ranks[0], all.begins[c], all.counts[c]});
    }
  }
  return chains;
}

/// What is added up: fractions, whose sums show the order of adding, or whole numbers.
enum class Sums { of_fractions, of_whole_numbers };

/// Broadcasts and reductions along chains, several at once: the bits of adding from the last rank
/// to the first, and the bytes that they send.
template <typename T>
void check_chains(Communicator& world, DType dtype, std::int64_t count,
                  Sums added = Sums::of_fractions) {
  SCOPED_TRACE(testing::Message() << "rank " << world.rank << " of " << world.size << ", " << count
                                  << " elements");
  const TestChains all = test_chains(world.size, count);
  const auto chains = chains_of(all, world.rank);
  const auto own = [&](int rank, std::int64_t i) {
    if (added == Sums::of_whole_numbers) return value<T>(rank, i);
    return static_cast<T>(1) / static_cast<T>(1 + i % 1000 + 3 * rank);
  };
  std::vector<T> mine(static_cast<std::size_t>(all.elements));
  for (std::int64_t i = 0; i < all.elements; ++i) mine[i] = own(world.rank, i);
  std::vector<T> spread = mine, reduced = mine;
  const std::int64_t before = world.sent_bytes();
  auto data = mine;
  world.chain_broadcast(reinterpret_cast<std::byte*>(data.data()), chains, dtype,
                        call("chain_broadcast"));
  const std::int64_t broadcast_bytes = world.sent_bytes() - before;
  auto sums = mine;
  world.chain_reduce(reinterpret_cast<std::byte*>(sums.data()), chains, dtype,
                     call("chain_reduce"));
  const std::int64_t reduce_bytes = world.sent_bytes() - before - broadcast_bytes;
  std::int64_t passed_on = 0, sent_back = 0;
  for (const collective::Chain& chain : chains) {
    if (chain.after >= 0) passed_on += chain.count;
    if (chain.before >= 0) sent_back += chain.count;
  }
  for (std::size_t c = 0; c < all.ranks.size(); ++c) {
    const std::vector<int>& ranks = all.ranks[c];
    if (ranks.size() < 2 || ranks[0] == ranks[1]) continue;
    const bool takes_part = std::ranges::find(ranks, world.rank) != ranks.end();
    for (std::int64_t i = all.begins[c]; i < all.begins[c] + all.counts[c]; ++i) {
      if (takes_part) spread[i] = own(ranks[0], i);
      if (ranks[0] != world.rank) continue;
      T sum = own(ranks.back(), i);
      for (std::size_t place = ranks.size() - 2; place > 0; --place) sum += own(ranks[place], i);
      reduced[i] = sum;
    }
  }
  EXPECT_EQ(data, spread);
  EXPECT_EQ(sums, reduced);
  EXPECT_EQ(broadcast_bytes, passed_on * static_cast<std::int64_t>(sizeof(T)));
  EXPECT_EQ(reduce_bytes, sent_back * static_cast<std::int64_t>(sizeof(T)));
}

/// Even and odd ranks apart, then everybody alone, then a group within a group.
inline void check_split(Communicator& world) {
  std::vector<int> mine;
  for (int rank = world.rank % 2; rank < world.size; rank += 2) mine.push_back(rank);
  const auto half = world.split(mine);
  ASSERT_EQ(half->size, static_cast<int>(mine.size()));
  ASSERT_EQ(mine[half->rank], world.rank);
  std::int32_t sum = world.rank;
  half->all_reduce(&sum, 1, DType::i32, call("half"));
  std::int32_t expected = 0;
  for (int rank : mine) expected += rank;
  EXPECT_EQ(sum, expected);

  const int self = world.rank;
  const auto alone = world.split(std::span(&self, 1));
  EXPECT_EQ(alone->size, 1);
  alone->barrier(call("alone"));

  std::vector<int> everybody(half->size);
  for (int i = 0; i < half->size; ++i) everybody[i] = i;
  const auto again = half->split(everybody);
  std::int32_t first = again->rank == 0 ? world.rank : -1;
  again->broadcast(&first, 1, DType::i32, 0, call("again"));
  EXPECT_EQ(first, mine[0]);
}

/// Every collective × counts × types. `node_of`: by rank of `world`.
inline void check_table(Communicator& world, const std::vector<std::int64_t>& counts,
                        const std::vector<int>& node_of) {
  for (std::int64_t count : counts) {
    check_typed<float>(world, DType::f32, count);
    check_typed<double>(world, DType::f64, count);
    check_typed<std::int32_t>(world, DType::i32, count);
  }
  check_order_of_sums(world, node_of);
  for (const std::int64_t count : {std::int64_t{0}, counts.front(), counts.back() / 16}) {
    check_chains<float>(world, DType::f32, count);
    check_chains<double>(world, DType::f64, count);
  }
  for (const std::int64_t count : counts) {
    check_shares<float>(world, DType::f32, count);
    check_shares<double>(world, DType::f64, count);
  }
  for (int segments : {0, 1, 3}) {
    for (std::int64_t scale : std::vector<std::int64_t>{1, 1000, counts.back() / 20}) {
      check_all_to_all_v(world, segments, scale);
    }
  }
  check_split(world);
  world.barrier(call("end of table"));
}

/// The same for ranks of one node.
inline void check_table(Communicator& world, const std::vector<std::int64_t>& counts) {
  check_table(world, counts, std::vector<int>(world.size, 0));
}

/// Two communicators used by two threads at the same time, in unlike order and length.
void check_two_streams(Communicator& world);

/// Each collective counts the bytes that its declaration states: all ranks together exactly, each
/// rank but for the elements (or relayed fragments) that cannot be shared out evenly.
void check_sent_bytes(Communicator& world);

/// Member 0 comes too late for an exchange in which the others wait for it: they say so, and it is
/// told; the parent goes on working.
void check_time_limit(Communicator& world);
/// Work that rank 0 announces may last several times `limit_s`; silence may not.
void check_announced_work(Communicator& world, double limit_s);

}  // namespace moe::cases
