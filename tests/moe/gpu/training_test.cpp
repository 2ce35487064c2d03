// Whole training steps on the device against the CPU's, one rank and several on one device.
#include <gtest/gtest.h>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::training_test {
namespace {

class CudaTraining : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  }
  static Outcome train_on_device(const Model& model, const Schedule& schedule, int ranks,
                                 int steps) {
    return train_small(model, schedule, Layout{1, ranks, 1}, steps,
                       [] { return make_cuda_backend(0); });
  }
};

// Ranks are threads here; their rows travel through pinned host memory as under MPI.
TEST_P(CudaTraining, GivesTheLossAndGradientsOfTheCpu) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    Model model = small_model(dtype);
    model.capacity_factor = 1.25;
    const double limit = dtype == DType::f64 ? 1e-10 : 1e-5;
    const Outcome cpu = train_small(model, {}, 1, 3);
    for (const Schedule& schedule : {Schedule{}, chunked(model, 3, 2)}) {
      const Outcome device = train_on_device(model, schedule, GetParam(), 3);
      for (int step = 0; step < 3; ++step) {
        EXPECT_NEAR(device.losses[step], cpu.losses[step], 10 * limit * cpu.losses[step]);
      }
      EXPECT_LT(largest_difference(device, cpu), limit);
      EXPECT_EQ(device.dropped, cpu.dropped);
      for (std::size_t rank = 0; rank < device.planned_peaks.size(); ++rank) {
        EXPECT_LE(device.touched_peaks[rank], device.planned_peaks[rank]);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, CudaTraining, ::testing::Values(1, 2, 4));

TEST_F(CudaTraining, SpansKeepTheOrderOfStreamsAndDependencies) {
  const Model model = small_model(DType::f32);
  const Schedule schedule = chunked(model, 2, 2);
  const Outcome outcome = train_on_device(model, schedule, 2, 2);
  const Program program = apply(build_iteration(model, make_groups(2, 2), 0), schedule);
  const auto waits = dependencies(program);
  constexpr double kClockStep = 5e-6;  // device times are mapped to the host's clock
  for (const auto& spans : outcome.timeline.ranks) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      for (const int earlier : waits[i]) {
        EXPECT_GE(spans[i].start_s + kClockStep, spans[earlier].start_s + spans[earlier].duration_s)
            << program.ops[i].name << " after " << program.ops[earlier].name;
      }
    }
  }
}

}  // namespace
}  // namespace moe::test::training_test
