#include "communicator_cases.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "moe/communicator/announced_work.h"
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

void check_sent_bytes(Communicator& world) {
  const std::int64_t n = world.size, element = sizeof(double);
  // Calls once and compares: `own` here within `slack` bytes, `total` over all ranks.
  const auto expect = [&](const std::string& name, std::int64_t own, std::int64_t slack,
                          std::int64_t total, const auto& collective) {
    const std::int64_t before = world.sent_bytes();
    collective();
    const std::int64_t sent = world.sent_bytes() - before;
    EXPECT_LE(std::abs(sent - own), slack) << name << ": " << sent << " bytes, not " << own;
    auto sum = static_cast<double>(sent);
    world.all_reduce(&sum, 1, DType::f64, call("total"));
    EXPECT_EQ(sum, static_cast<double>(total)) << name;
  };
  for (const std::int64_t count : {0, 1, 3, 257, 5'003, 40'009, 300'007}) {
    SCOPED_TRACE(testing::Message() << "rank " << world.rank << " of " << n << ", " << count);
    // S of all_reduce, broadcast and reduce; S/n of the others.
    const std::int64_t bytes = count * element;
    std::vector<double> block(count), blocks(n * count);
    expect("all_gather", bytes * (n - 1), 0, n * bytes * (n - 1), [&] {
      world.all_gather(block.data(), blocks.data(), count, DType::f64, call("all_gather"));
    });
    expect("reduce_scatter", bytes * (n - 1), 0, n * bytes * (n - 1), [&] {
      world.reduce_scatter(blocks.data(), block.data(), count, DType::f64, call("reduce_scatter"));
    });

    const ElementRange all{0, count};
    const std::int64_t mine = element_share(all, world.rank, static_cast<int>(n)).count * element;
    auto* const memory = reinterpret_cast<std::byte*>(block.data());
    expect("reduce_shares", bytes - mine, 0, bytes * (n - 1), [&] {
      world.reduce_shares(memory, {&all, 1}, DType::f64, call("reduce_shares"));
    });
    expect("gather_shares", mine * (n - 1), 0, bytes * (n - 1), [&] {
      world.gather_shares(memory, {&all, 1}, DType::f64, call("gather_shares"));
    });

    const bool one_round = bytes * (n - 1) <= 16 * 1024;
    expect("all_reduce", one_round ? bytes * (n - 1) : 2 * bytes * (n - 1) / n,
           one_round ? 0 : n * element, one_round ? n * bytes * (n - 1) : 2 * bytes * (n - 1),
           [&] { world.all_reduce(block.data(), count, DType::f64, call("all_reduce")); });

    const int root = static_cast<int>(n / 2);
    const bool relayed = n > 2 && bytes > 32 * 1024;
    std::int64_t own = world.rank == root ? bytes * (n - 1) : 0, fragment = 0;
    if (relayed) {
      own = world.rank == root ? bytes : bytes * (n - 2) / (n - 1);
      fragment = world.rank == root ? 0 : 64 * 1024 * (n - 2);
    }
    expect("broadcast", own, fragment, bytes * (n - 1),
           [&] { world.broadcast(block.data(), count, DType::f64, root, call("broadcast")); });

    const bool root_adds = n <= 2 || bytes <= 16 * 1024;
    own = root_adds && world.rank == root ? 0 : bytes;
    expect("reduce", own, 0, (root_adds ? n - 1 : n) * bytes, [&] {
      world.reduce(block.data(), blocks.data(), count, DType::f64, root, call("reduce"));
    });

    // Rows of 3 bytes: 2 count to rank 0, `count` to the others, those to oneself not counted.
    std::vector<Segment> send, receive;
    const std::int64_t received = world.rank == 0 ? 2 * count : count;
    for (int peer = 0; peer < n; ++peer) {
      send.push_back({peer, peer == 0 ? 0 : (peer + 1) * count, peer == 0 ? 2 * count : count});
      receive.push_back({peer, peer * received, received});
    }
    std::vector<std::byte> from((n + 1) * count * 3), to(n * received * 3);
    expect("all_to_all_v", ((n + 1) * count - received) * 3, 0, (n - 1) * (n + 1) * count * 3, [&] {
      world.all_to_all_v(from.data(), send, to.data(), receive, 3, call("all_to_all_v"));
    });
  }
  expect("barrier", 0, 0, 0, [&] { world.barrier(call("barrier")); });
  std::vector<int> all = everybody(world);
  const auto group = world.split(all);
  EXPECT_EQ(group->sent_bytes(), 0);
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

void check_announced_work(Communicator& world, double limit_s) {
  if (world.size < 2) return;
  const auto group = world.split(everybody(world));
  const auto sleep = [](double s) {
    std::this_thread::sleep_for(std::chrono::duration<double>(s));
  };
  if (world.rank == 0) {
    const AnnouncedWork plans("plans");
    sleep(3 * limit_s);
  }
  group->barrier(call("exchange of a plan", limit_s));
  if (world.rank == 0) {
    sleep(2 * limit_s);
  } else {
    EXPECT_THROW(group->barrier(call("a hang", limit_s)), std::runtime_error);
  }
  world.barrier(call("the parent goes on"));
}

}  // namespace moe::cases
