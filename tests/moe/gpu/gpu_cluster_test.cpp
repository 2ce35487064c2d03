#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/communicator/local.h"
#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "tests/moe/communicator/communicator_cases.h"
#include "tests/moe/gpu/through_device.h"
#include "tests/moe/train/training_case.h"

/// Ranks that are threads and share a GPU: what host communicators compute, with their bits.
namespace moe::gpu_cluster_test {
namespace {

using test::ThroughDevice;
using Nodes = std::vector<int>;

class GpuCluster : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
};

std::vector<int> everybody(const Communicator& world) {
  std::vector<int> ranks(static_cast<std::size_t>(world.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Runs `body` on ranks of a cluster, for buffers of the host and for those of the device.
void run_cluster(
    const moe::GpuCluster& cluster,
    const std::function<void(Communicator& host, Communicator& device, Backend&)>& body) {
  run_local_ranks(cluster.node_of, [&](Communicator& world) {
    const auto backend = make_cuda_backend(0);
    const auto device = make_gpu_cluster_communicator(world.split(everybody(world)), cluster, 0);
    body(world, *device, *backend);
  });
}

void run_through_device(const moe::GpuCluster& cluster,
                        const std::function<void(Communicator& through)>& body) {
  run_local_ranks(cluster.node_of, [&](Communicator& world) {
    const auto backend = make_cuda_backend(0);
    std::byte* const memory = backend->arena(2 * ThroughDevice::kBytes);
    ThroughDevice through(make_gpu_cluster_communicator(world.split(everybody(world)), cluster, 0),
                          *backend, memory);
    body(through);
  });
}

TEST_F(GpuCluster, ComputesWhatHostCommunicatorsDo) {
  for (const Nodes& node_of : {Nodes{0}, Nodes{0, 1}, Nodes{0, 0, 1, 1}, Nodes{1, 0, 0, 0, 1}}) {
    SCOPED_TRACE(testing::PrintToString(node_of));
    run_through_device({node_of}, [&](Communicator& world) {
      cases::check_table(world, {0, 1, 3, 1001}, node_of);
    });
  }
}

TEST_F(GpuCluster, CopiesByAKernelToo) {
  moe::GpuCluster cluster{{0, 0, 1}};
  cluster.copy_blocks = 3;
  run_through_device(cluster, [&](Communicator& world) {
    cases::check_table(world, {7, 20'011}, cluster.node_of);
  });
}

/// A slow link changes nothing but when streams go on.
TEST_F(GpuCluster, PacedLinksChangeNoValues) {
  const moe::GpuCluster cluster{{0, 0, 1, 1}, 2e9, 8e9};
  run_through_device(cluster, [&](Communicator& world) {
    cases::check_table(world, {3, 1001}, cluster.node_of);
  });
}

/// Two communicators of every rank on two streams, enqueued in turns by one thread.
TEST_F(GpuCluster, TwoStreamsAreAtWorkAtOnce) {
  run_cluster({{0, 0, 1}, 4e9}, [&](Communicator&, Communicator& device, Backend& backend) {
    constexpr std::int64_t count = 40'000, bytes = count * 4;
    const auto second = device.split(everybody(device));
    std::byte* const memory = backend.arena(2 * bytes);
    const auto at = [&](Stream stream) -> CallContext {
      return {.native_stream = backend.native_stream(stream), .stream = stream};
    };
    for (int round = 0; round < 4; ++round) {
      for (const auto& [group, stream, place] : {std::tuple(&device, Stream::inter_node, 0),
                                                 std::tuple(second.get(), Stream::intra_node, 1)}) {
        const auto mine = cases::values<float>(device.rank + place, count);
        backend.upload(memory + place * bytes, std::as_bytes(std::span(mine)), stream);
        group->all_reduce(memory + place * bytes, count, DType::f32, at(stream));
      }
      for (const int place : {0, 1}) {
        std::vector<float> sum(count), expected = cases::values<float>(place, count);
        for (int rank = 1; rank < device.size; ++rank) {
          const auto other = cases::values<float>(rank + place, count);
          for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += other[i];
        }
        backend.download(std::as_writable_bytes(std::span(sum)), memory + place * bytes,
                         place == 0 ? Stream::inter_node : Stream::intra_node);
        EXPECT_EQ(sum, expected) << "round " << round << ", stream " << place;
      }
    }
  });
}

/// Rank 0 sends to rank 1 through a card of a given rate.
TEST_F(GpuCluster, PacedTransfersLastAsLongAsTheirLink) {
  constexpr std::int64_t bytes = 4 << 20;
  constexpr double rate = 100e6;
  for (const Nodes& node_of : {Nodes{0, 1}, Nodes{0, 0}}) {
    moe::GpuCluster cluster{node_of, rate, rate};
    run_cluster(cluster, [&](Communicator& world, Communicator& device, Backend& backend) {
      std::byte* const memory = backend.arena(bytes);
      const std::vector<std::byte> mine(bytes, std::byte(world.rank + 1));
      backend.upload(memory, mine, Stream::inter_node);
      const Segment other{1 - world.rank, 0, bytes};
      const std::span<const Segment> all(&other, 1), none;
      const CallContext call{.native_stream = backend.native_stream(Stream::inter_node),
                             .stream = Stream::inter_node};
      world.barrier(call);
      const Mark begin = backend.mark(Stream::inter_node);
      const bool sends = world.rank == 0;
      device.all_to_all_v(memory, sends ? all : none, memory, sends ? none : all, 1, call);
      const Mark end = backend.mark(Stream::inter_node);
      // An idle link makes up for 40 KiB, as in the paced box.
      const double least_s = (bytes - 40960) / rate;
      EXPECT_GE(backend.time_of(end) - backend.time_of(begin), least_s - backend.time_error_s());
      std::vector<std::byte> got(bytes);
      backend.download(got, memory, Stream::inter_node);
      EXPECT_EQ(got, std::vector<std::byte>(bytes, std::byte{1}));
      EXPECT_EQ(device.sent_bytes(), sends ? bytes : 0);
    });
  }
}

TEST_F(GpuCluster, UnlikeCallsAreExplained) {
  try {
    run_cluster({{0, 0}}, [&](Communicator& world, Communicator& device, Backend& backend) {
      std::byte* const memory = backend.arena(1024);
      const CallContext call{.native_stream = backend.native_stream(Stream::compute),
                             .time_limit_s = 5,
                             .what = "unlike"};
      device.all_reduce(memory, world.rank == 0 ? 8 : 6, DType::f32, call);
    });
    FAIL() << "nothing thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(),
                testing::ContainsRegex("all_reduce: rank . has . elements of 4 bytes"));
  }
}

TEST_F(GpuCluster, ALateRankIsNamed) {
  try {
    run_cluster({{0, 0, 0}}, [&](Communicator& world, Communicator& device, Backend& backend) {
      if (world.rank == 2) return world.barrier(cases::call("of another kind", 30));
      const CallContext call{.native_stream = backend.native_stream(Stream::compute),
                             .time_limit_s = 0.2,
                             .what = "all_reduce gradients"};
      device.all_reduce(backend.arena(1024), 8, DType::f32, call);
    });
    FAIL() << "nothing thrown";
  } catch (const TimeLimit& limit) {
    EXPECT_THAT(limit.what(), testing::HasSubstr("for rank 2 in all_reduce gradients"));
  }
}

}  // namespace
}  // namespace moe::gpu_cluster_test
