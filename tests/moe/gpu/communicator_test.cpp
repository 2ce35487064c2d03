#include "moe/communicator/communicator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/errors.h"

namespace moe::gpu_communicator_test {
namespace {

CallContext on(Backend& backend, Stream stream, std::string what) {
  return {
      .native_stream = backend.native_stream(stream), .stream = stream, .what = std::move(what)};
}

std::vector<float> download(Backend& backend, const std::byte* from, std::size_t count) {
  std::vector<float> host(count);
  backend.download(std::as_writable_bytes(std::span(host)), from, Stream::inter_node);
  return host;
}

/// All-reduce and all-to-all-v of one device buffer per rank, against what can be worked out.
void check_device_collectives(Communicator& communicator, Backend& backend) {
  const int n = communicator.size, rank = communicator.rank;
  constexpr std::int64_t block = 300'001;
  const auto bytes = static_cast<std::int64_t>(n * block * sizeof(float));
  std::byte* data = backend.arena(2 * bytes);
  std::byte* to = data + bytes;
  const auto call = on(backend, Stream::inter_node, "device collectives");

  std::vector<float> own(n * block);
  std::iota(own.begin(), own.end(), static_cast<float>(rank));
  backend.upload(data, std::as_bytes(std::span(own)), Stream::inter_node);
  std::vector<Segment> segments;
  for (int peer = 0; peer < n; ++peer) segments.push_back({peer, peer, 1});
  communicator.all_to_all_v(data, segments, to, segments, block * sizeof(float), call);
  const auto exchanged = download(backend, to, own.size());
  for (int peer = 0; peer < n; ++peer) {
    EXPECT_EQ(exchanged[peer * block], static_cast<float>(peer + rank * block));
    EXPECT_EQ(exchanged[(peer + 1) * block - 1], static_cast<float>(peer + (rank + 1) * block - 1));
  }

  std::vector<float> ones(own.size(), static_cast<float>(rank + 1));
  backend.upload(data, std::as_bytes(std::span(ones)), Stream::inter_node);
  communicator.all_reduce(data, n * block, DType::f32, call);
  EXPECT_EQ(download(backend, data, own.size()),
            std::vector<float>(own.size(), static_cast<float>(n * (n + 1) / 2)));
  communicator.barrier(call);
}

TEST(StagedCommunicator, ServesDeviceBuffersOfRanksThatShareADevice) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  for (int ranks : {1, 2, 4}) {
    run_local_ranks(ranks, [](Communicator& world) {
      std::vector<int> everybody(world.size);
      std::iota(everybody.begin(), everybody.end(), 0);
      const auto backend = make_cuda_backend(0);
      const auto staged = make_staged_communicator(world.split(everybody), *backend);
      check_device_collectives(*staged, *backend);
    });
  }
}

TEST(NcclCommunicator, ServesOneDevicePerRank) {
  const int devices = cuda_device_count();
  if (devices == 0) GTEST_SKIP() << "no CUDA device";
  run_local_ranks(devices, [](Communicator& world) {
    const auto backend = make_cuda_backend(world.rank);
    std::unique_ptr<Communicator> nccl;
    try {
      nccl = make_nccl_communicator(world, *backend, world.rank);
    } catch (const Unavailable& error) {
      GTEST_SKIP() << error.what();
    }
    EXPECT_FALSE(nccl->on_host());
    check_device_collectives(*nccl, *backend);
    const auto alone = nccl->split(std::span(&nccl->rank, 1));
    check_device_collectives(*alone, *backend);
  });
}

}  // namespace
}  // namespace moe::gpu_communicator_test
