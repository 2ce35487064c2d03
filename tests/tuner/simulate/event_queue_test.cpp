#include "tuner/simulate/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tuner::event_queue_test {
namespace {

std::vector<int> ranks_of(const Event& event) {
  std::vector<int> ranks;
  for (const auto& [rank, version] : event.ranks) ranks.push_back(rank);
  return ranks;
}

TEST(EventQueue, GoesByTimeThenOpThenRank) {
  EventQueue queue(false);
  queue.push(2, 0, EventKind::start, {0, 0});
  queue.push(1, 5, EventKind::start, {1, 0});
  queue.push(1, 5, EventKind::computed, {0, 7});
  queue.push(1, 4, EventKind::transfer, {3, 0});
  EXPECT_EQ(queue.next_time(), 1);
  EXPECT_EQ(queue.pop().op, 4);
  const Event& first = queue.pop();
  EXPECT_EQ(first.ranks[0].rank, 0);
  EXPECT_EQ(first.ranks[0].version, 7);
  EXPECT_EQ(queue.pop().ranks[0].rank, 1);
  EXPECT_EQ(queue.pop().time, 2);
  EXPECT_TRUE(std::isinf(queue.next_time()));
}

TEST(EventQueue, RanksThatDoTheSameAtOneTimeAreOneEvent) {
  EventQueue queue(true);
  for (int rank = 0; rank < 5; ++rank) queue.push(1, 7, EventKind::start, {rank, 0});
  queue.push(1, 7, EventKind::computed, {5, 0});
  queue.push(2, 7, EventKind::start, {6, 0});
  EXPECT_THAT(ranks_of(queue.pop()), testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(ranks_of(queue.pop()), testing::ElementsAre(5));
  EXPECT_THAT(ranks_of(queue.pop()), testing::ElementsAre(6));
}

TEST(EventQueue, NothingJoinsWhatHasHappened) {
  EventQueue queue(true);
  queue.push(1, 7, EventKind::start, {0, 0});
  const std::vector<int> first = ranks_of(queue.pop());
  queue.push(1, 7, EventKind::start, {1, 0});
  EXPECT_THAT(first, testing::ElementsAre(0));
  EXPECT_THAT(ranks_of(queue.pop()), testing::ElementsAre(1));
}

TEST(EventQueue, CallsAreEventsOfTheirOwn) {
  EventQueue queue(true);
  queue.push(1, 7, EventKind::transfer, {0, 0});
  queue.push(1, 7, EventKind::transfer, {1, 0});
  EXPECT_THAT(ranks_of(queue.pop()), testing::ElementsAre(0));
}

}  // namespace
}  // namespace tuner::event_queue_test
