#include "moe/communicator/one_gpu/moves.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

namespace moe::one_gpu::moves_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// The moves of every rank of a call, made by rank.
std::vector<Moves> moves_of_all(const std::vector<int>& node_of,
                                const std::function<collective::Call(int rank)>& call_of) {
  const auto ranks = static_cast<int>(node_of.size());
  std::vector<collective::Call> made;
  for (int rank = 0; rank < ranks; ++rank) made.push_back(call_of(rank));
  std::vector<const collective::Call*> calls;
  for (const collective::Call& call : made) calls.push_back(&call);
  std::vector<Moves> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(moves_of(calls, {rank, ranks, group_nodes(node_of)}));
  }
  return all;
}

/// Bytes that come into each node from others, by all messages.
std::map<int, std::int64_t> through_cards(const std::vector<Moves>& all,
                                          const std::vector<int>& node_of) {
  std::map<int, std::int64_t> bytes;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (const Phase& phase : all[rank].phases) {
      for (const Message& message : phase.messages) {
        const int from = node_of[static_cast<std::size_t>(message.from)];
        if (from != node_of[rank]) bytes[node_of[rank]] += message.bytes;
      }
    }
  }
  return bytes;
}

collective::Call all_reduce_of(std::int64_t count) {
  return collective::AllReduce{{nullptr, nullptr, count, DType::f32}};
}

TEST(MovesInOneGpu, SumsGoThroughACardOnce) {
  constexpr std::int64_t count = 4000, bytes = 4 * count;
  for (const auto& node_of : {std::vector{0, 0, 1, 1}, {0, 1}, {0, 0, 0, 0, 1, 1, 1, 1}}) {
    SCOPED_TRACE(testing::PrintToString(node_of));
    const auto all = moves_of_all(node_of, [](int) { return all_reduce_of(count); });
    // 2 S (m-1)/m for m nodes [by_node.h]
    EXPECT_EQ(through_cards(all, node_of), (std::map<int, std::int64_t>{{0, bytes}, {1, bytes}}));
    std::int64_t sent = 0;
    for (const Moves& one : all) sent += one.sent_bytes;
    EXPECT_EQ(sent, 2 * bytes * static_cast<std::int64_t>(node_of.size() - 1));
  }
}

TEST(MovesInOneGpu, RowsThatAdjoinAreOneCopy) {
  std::vector<std::byte> from(64), to(64);
  const std::vector<Segment> send{{1, 0, 2}, {1, 2, 3}, {0, 5, 1}}, receive{{0, 0, 2}, {0, 2, 3}},
      own{{0, 7, 1}};
  const auto all = moves_of_all({0, 1}, [&](int rank) -> collective::Call {
    if (rank == 0) return collective::AllToAllV{from.data(), send, to.data(), own, 4};
    return collective::AllToAllV{nullptr, {}, to.data(), receive, 4};
  });
  ASSERT_EQ(all[1].phases.at(0).copies.size(), 1U);
  EXPECT_EQ(all[1].phases[0].copies[0].bytes, 20);
  EXPECT_EQ(all[1].phases[0].reads, 1U);
  EXPECT_EQ(all[0].sent_bytes, 20) << "what a rank sends itself does not count";
  EXPECT_EQ(all[0].phases.at(0).copies.at(0).bytes, 4);
  EXPECT_EQ(all[0].phases[0].reads, 0U) << "it waits for nobody";
  EXPECT_TRUE(all[0].phases[0].messages.empty());
}

TEST(MovesInOneGpu, CallsThatDoNotFitAreRefused) {
  EXPECT_THAT(
      [] {
        moves_of_all({0, 0}, [](int rank) { return all_reduce_of(8 - rank); });
      },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("all_reduce: rank 0 has 8 elements of 4 bytes, rank 1 7 of 4")));
  EXPECT_THAT(
      [] {
        moves_of_all({0, 0}, [](int rank) -> collective::Call {
          if (rank == 0) return all_reduce_of(8);
          return collective::Barrier{};
        });
      },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("rank 0 calls all_reduce, rank 1 calls barrier")));
  const std::vector<Segment> three{{1, 0, 3}}, two{{0, 0, 2}};
  EXPECT_THAT(
      [&] {
        moves_of_all({0, 0}, [&](int rank) -> collective::Call {
          if (rank == 0) return collective::AllToAllV{nullptr, three, nullptr, {}, 4};
          return collective::AllToAllV{nullptr, {}, nullptr, two, 4};
        });
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("rank 0 sends 1 segments of 3 rows of 4 bytes "
                                                     "to rank 1, which expects 1 of 2 of 4")));
}

}  // namespace
}  // namespace moe::one_gpu::moves_test
