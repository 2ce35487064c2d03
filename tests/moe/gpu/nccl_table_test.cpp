#include <gtest/gtest.h>

#include "moe/backend/backend.h"
#include "moe/communicator/communicator.h"
#include "tests/moe/communicator/communicator_cases.h"
#include "tests/moe/gpu/through_device.h"

/// The cases of host communicators for NCCL. The order of sums and the independence of groups that
/// fail are theirs alone.
namespace moe::nccl_table_test {
namespace {

void check_table(Communicator& world) {
  for (const std::int64_t count : cases::small_counts) {
    cases::check_typed<float>(world, DType::f32, count);
    cases::check_typed<double>(world, DType::f64, count);
    cases::check_typed<std::int32_t>(world, DType::i32, count);
  }
  for (const std::int64_t count : {0, 1, 30'000}) {
    cases::check_chains<float>(world, DType::f32, count, cases::Sums::of_whole_numbers);
    cases::check_chains<double>(world, DType::f64, count, cases::Sums::of_whole_numbers);
  }
  for (const int segments : {0, 1, 3}) {
    for (const std::int64_t scale : {1, 1000}) {
      cases::check_all_to_all_v(world, segments, scale);
    }
  }
  cases::check_split(world);
  world.barrier(cases::call("end of table"));
}

TEST(NcclCommunicator, ComputesWhatHostCommunicatorsDo) {
  const int devices = cuda_device_count();
  if (devices == 0) GTEST_SKIP() << "no CUDA device";
  if (!has_nccl()) GTEST_SKIP() << "built without NCCL";
  for (const int ranks : {1, 2, 4, 7}) {
    if (ranks > devices) continue;
    run_local_ranks(ranks, [](Communicator& world) {
      const auto backend = make_cuda_backend(world.rank);
      std::byte* const memory = backend->arena(2 * test::ThroughDevice::kBytes);
      test::ThroughDevice nccl(make_nccl_communicator(world, *backend, world.rank), *backend,
                               memory);
      check_table(nccl);
    });
  }
}

}  // namespace
}  // namespace moe::nccl_table_test
