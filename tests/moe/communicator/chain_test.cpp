#include "moe/communicator/chain.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#include "communicator_cases.h"

namespace moe::chain_test {
namespace {

/// Chain and range of what one rank sends another, in order.
using Sent = std::vector<std::array<std::int64_t, 3>>;

template <class Call>
void check_messages(int ranks, std::int64_t count) {
  const cases::TestChains all = cases::test_chains(ranks, count);
  constexpr bool out = std::is_same_v<Call, collective::ChainBroadcast>;
  std::map<std::pair<int, int>, Sent> sent, received;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto chains = cases::chains_of(all, rank);
    const ChainMessages messages = chain_messages(Call{{nullptr, chains, DType::f32}});
    std::map<std::array<std::int64_t, 2>, int> came;  // chain and begin -> step
    for (const ChainFragment& fragment : messages.receives) {
      const collective::Chain& chain = chains[fragment.chain];
      received[{out ? chain.before : chain.after, rank}].push_back(
          {fragment.begin, fragment.count, fragment.step});
      came[{static_cast<std::int64_t>(fragment.chain), fragment.begin}] = fragment.step;
    }
    for (const ChainFragment& fragment : messages.sends) {
      const collective::Chain& chain = chains[fragment.chain];
      sent[{rank, out ? chain.after : chain.before}].push_back(
          {fragment.begin, fragment.count, fragment.step});
      const auto found = came.find({static_cast<std::int64_t>(fragment.chain), fragment.begin});
      if (chain.before >= 0 && chain.after >= 0) {
        ASSERT_NE(found, came.end());
        EXPECT_EQ(fragment.step, found->second + 1) << "passed on in the step after it came";
      }
    }
  }
  EXPECT_EQ(sent, received);
}

TEST(ChainMessages, AreTheSameOnBothSidesAndGoOnInTheStepAfter) {
  for (const int ranks : {1, 2, 4, 7}) {
    for (const std::int64_t count : {1, 1000, 300'007}) {
      check_messages<collective::ChainBroadcast>(ranks, count);
      check_messages<collective::ChainReduce>(ranks, count);
    }
  }
}

TEST(ChainMessages, CutLongArraysSoThatAChainFillsSoon) {
  const collective::Chain root{.after = 1, .count = 1 << 20};
  const auto sends = chain_messages(collective::ChainBroadcast{{nullptr, {&root, 1}}}).sends;
  ASSERT_EQ(sends.size(), 64u);
  EXPECT_EQ(sends[1].begin, 1 << 14);
  EXPECT_EQ(sends[1].step, 1);
}

}  // namespace
}  // namespace moe::chain_test
