// Whole trainings of a cluster in one GPU against the CPU's, under the schedules of the property test.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "moe/backend/backend.h"
#include "tests/moe/passes/random_draw.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::gpu_cluster_training_test {
namespace {

constexpr int kSteps = 3, kDraws = 6;

std::vector<int> nodes_of(const Draw& draw) {
  const int ranks = rank_count(draw.layout);
  return draw.node_of.empty() ? std::vector<int>(static_cast<std::size_t>(ranks), 0) : draw.node_of;
}

bool chooses_after_the_gate(const Schedule& schedule) {
  return std::ranges::any_of(decisions_of<ReplicateExperts>(schedule),
                             [](const ReplicateExperts& one) { return is_late(one.placement); });
}

/// The next draw for `ranks` ranks whose numbers can be compared: in bf16 another order of sums may
/// send a token to another expert. `late`: one with replicas that are chosen after the gate.
Draw draw_for(int ranks, std::mt19937& random, bool late) {
  for (;;) {
    Draw draw = random_draw(random);
    if (rank_count(draw.layout) != ranks || draw.model.dtype == DType::bf16) continue;
    if (!late || chooses_after_the_gate(draw.schedule)) return draw;
  }
}

class GpuClusterTraining : public ::testing::TestWithParam<int> {};

TEST_P(GpuClusterTraining, GivesTheLossAndGradientsOfTheCpuUnderAnySchedule) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  std::mt19937 random(static_cast<unsigned>(47 + GetParam()));
  for (int i = 0; i < kDraws; ++i) {
    const Draw draw = draw_for(GetParam(), random, i % 2 == 0);
    SCOPED_TRACE(describe(draw));
    const Groups groups = make_groups(draw.layout, draw.node_of);
    const Schedule& later = draw.later ? *draw.later : draw.schedule;
    const Schedules schedules{draw.schedule, draw.schedule, later};
    GpuCluster cluster{nodes_of(draw)};
    if (i % 3 == 1) cluster.nic_bytes_per_s = 5e9;
    const Outcome cpu = train_in_turn(draw.model, schedules, groups, kSteps);
    const Outcome gpu = train_in_one_gpu(draw.model, schedules, groups, kSteps, cluster);
    const double limit = draw.model.dtype == DType::f64 ? 1e-10 : 1e-5;
    for (std::size_t step = 0; step < kSteps; ++step) {
      const double most = step == 0 ? 10 * limit : 1e-4;
      EXPECT_NEAR(gpu.losses[step], cpu.losses[step], most * cpu.losses[step]) << "step " << step;
    }
    EXPECT_LT(largest_difference(gpu, cpu), 10 * limit);
  }
}
INSTANTIATE_TEST_SUITE_P(Ranks, GpuClusterTraining, ::testing::Values(2, 4));

}  // namespace
}  // namespace moe::test::gpu_cluster_training_test
