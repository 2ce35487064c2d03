#include "tuner/costs/message_buffers.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/tuner/line.h"

namespace tuner::message_buffers_test {
namespace {

using test::line;

/// 10 ns a byte.
LastToCome came(double out_bytes, double in_bytes, double seconds, double later_s) {
  return {out_bytes, in_bytes, 1, 1, seconds, later_s};
}

TEST(MessageBuffers, AreNoneWithoutRanksOrWithoutARate) {
  EXPECT_FALSE(message_buffers({}, line(0, 1e-8)).any());
  const std::vector<LastToCome> one{came(1e6, 1e6, 1e-3, 1)};
  EXPECT_FALSE(message_buffers(one, line(1e-3, 0)).any());
}

TEST(MessageBuffers, AreNoneWhereAllWaitForAll) {
  std::vector<LastToCome> ranks;
  for (const double bytes : {1e5, 2e5, 1e6})
    ranks.push_back(came(bytes, bytes, bytes * 1e-8, 5e-3));
  EXPECT_FALSE(message_buffers(ranks, line(0, 1e-8)).any());
}

TEST(MessageBuffers, OfARankThatSendsMoreThanItGetsTellWhatStillLeaves) {
  std::vector<LastToCome> ranks;
  for (const double bytes : {6e5, 8e5, 1e6})
    ranks.push_back(came(bytes, 0, (bytes - 4e5) * 1e-8, 0));
  ranks.push_back(came(2e5, 0, 0, 0));     // all of it is in the buffer
  ranks.push_back(came(9e5, 0, 9e-3, 0));  // something disturbed it
  const MessageBuffers found = message_buffers(ranks, line(0, 1e-8));
  EXPECT_NEAR(found.leaving_bytes, 4e5, 1);
  EXPECT_EQ(found.ahead_bytes, 0);
}

TEST(MessageBuffers, OfARankThatGetsMoreThanItSendsTellWhatCameAhead) {
  std::vector<LastToCome> ranks;
  ranks.push_back(came(0, 1e6, 7e-3, 20e-3));  // 3e5 bytes had come
  ranks.push_back(came(0, 8e5, 5e-3, 90e-3));  // and here
  ranks.push_back(came(0, 1e5, 0, 3e-3));      // all of them
  ranks.push_back(came(0, 8e5, 6e-3, 2e-3));   // as many as could in this time
  const MessageBuffers found = message_buffers(ranks, line(0, 1e-8));
  EXPECT_EQ(found.leaving_bytes, 0);
  EXPECT_NEAR(found.ahead_bytes, 3e5, 1);
}

TEST(MessageBuffers, AreForEachPeer) {
  LastToCome sends = came(1.2e6, 0, 6e-3, 0);
  sends.out_peers = 3;
  EXPECT_NEAR(message_buffers(std::vector{sends}, line(0, 1e-8)).leaving_bytes, 2e5, 1);
  LastToCome gets = came(0, 1.2e6, 6e-3, 1);
  gets.in_peers = 2;
  gets.out_peers = 0;
  EXPECT_NEAR(message_buffers(std::vector{gets}, line(0, 1e-8)).ahead_bytes, 3e5, 1);
}

TEST(MessageBuffers, AreNoneWhereTheyExplainNoMoreThanNoise) {
  std::vector<LastToCome> ranks;
  for (int i = 0; i < 40; ++i) {
    const double bytes = 1e5 * (1 + i % 7), noise = 1 + 0.01 * (i % 5 - 2);
    ranks.push_back(came(bytes, bytes, bytes * 1e-8 * noise, 1e-4 * (i % 11)));
  }
  EXPECT_FALSE(message_buffers(ranks, line(0, 1e-8)).any());
}

}  // namespace
}  // namespace tuner::message_buffers_test
