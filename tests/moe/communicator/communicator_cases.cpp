#include "communicator_cases.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "moe/errors.h"

namespace moe::cases {
namespace {

using testing::HasSubstr;

std::vector<int> everybody(const Communicator& world) {
  std::vector<int> ranks(world.size);
  for (int rank = 0; rank < world.size; ++rank) ranks[rank] = rank;
  return ranks;
}

}  // namespace

void check_two_streams(Communicator& world) {
  const auto first = world.split(everybody(world));
  const auto second = world.split(everybody(world));
  const auto drive = [&](Communicator& stream, std::int64_t count, int seed) {
    for (int round = 0; round < 20; ++round) {
      auto data = values<float>(stream.rank + seed, count);
      stream.all_reduce(data.data(), count, DType::f32, call("stream"));
      auto expected = values<float>(seed, count);
      for (int rank = 1; rank < stream.size; ++rank) {
        const auto addend = values<float>(rank + seed, count);
        for (std::int64_t i = 0; i < count; ++i) expected[i] += addend[i];
      }
      ASSERT_EQ(data, expected) << "round " << round;
      // Ranks pause differently: the streams overtake each other.
      if ((round + stream.rank + seed) % 3 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    }
  };
  std::thread other([&] { drive(*second, 50'000, 5); });
  drive(*first, 777, 0);
  other.join();
}

void check_time_limit(Communicator& world) {
  if (world.size < 2) return;
  const auto group = world.split(everybody(world));
  std::int32_t value = 1;
  if (world.rank == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    try {
      // Over MPI this may still succeed: the others had sent all it needs before they gave up.
      group->all_reduce(&value, 1, DType::i32, call("late", 30));
    } catch (const CommunicationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("late"));
    }
  } else {
    try {
      group->all_reduce(&value, 1, DType::i32, call("all_reduce gradients", 0.2));
      ADD_FAILURE() << "no time limit";
    } catch (const TimeLimit& limit) {
      EXPECT_THAT(limit.what(), HasSubstr("for rank 0 in all_reduce gradients"));
    } catch (const CommunicationError& error) {  // another rank was quicker to give up
      EXPECT_THAT(error.what(), HasSubstr("for rank 0 in all_reduce gradients"));
    }
  }
  EXPECT_THROW(group->barrier(call("after")), CommunicationError);
  world.barrier(call("the parent goes on"));
}

}  // namespace moe::cases
