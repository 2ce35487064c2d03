// Updates of many parameters at once on a device.
#include <gtest/gtest.h>

#include "tests/moe/kernels/update_cases.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::gpu_updates_test {
namespace {

TEST(CudaUpdates, TogetherGiveTheBitsOfEachAlone) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const auto cuda = make_cuda_backend(0);
  for (const UpdateCase& update : update_cases()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      EXPECT_EQ(updated(*cuda, update, dtype, true), updated(*cuda, update, dtype, false))
          << update.name << " in " << name_of(dtype);
    }
  }
}

/// Where no op is timed, updates that wait for the same are one launch.
TEST(CudaUpdates, OfATrainingThatTimesNoOpGiveTheSameBits) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Model model = small_model(DType::f32);
  const auto states = [&](int ranks, bool record_spans) {
    RunOptions options;
    options.record_spans = record_spans;
    return train_in_turn(
               model, {Schedule{}}, make_groups(ranks, ranks), 2,
               [] { return make_cuda_backend(0); }, options)
        .state;
  };
  for (const int ranks : {1, 2}) EXPECT_EQ(states(ranks, false), states(ranks, true)) << ranks;
}

}  // namespace
}  // namespace moe::test::gpu_updates_test
