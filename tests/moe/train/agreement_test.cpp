#include "moe/train/agreement.h"

#include <gtest/gtest.h>

#include <csignal>
#include <limits>

#include "moe/model/iteration.h"
#include "moe/stop.h"
#include "tests/moe/train/training_case.h"

namespace moe::agreement_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The agreement of several ranks, each of which holds these losses of two MoE layers.
template <class T>
std::vector<Agreement> agreed(const std::vector<double>& cross_entropy,
                              const std::vector<double>& auxiliary, int loses = -1) {
  Model model = test::all_moe_model(std::is_same_v<T, double> ? DType::f64 : DType::f32, 2);
  model.z_loss_weight = 0.1;
  const int ranks = static_cast<int>(cross_entropy.size());
  const Groups groups = make_groups(ranks, 1);
  std::vector<Agreement> all(cross_entropy.size());
  run_local_ranks(ranks, [&](Communicator& world) {
    const auto mine = static_cast<std::size_t>(world.rank);
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    RunOptions options;
    options.memory_limit_bytes = 1 << 28;
    Runner runner(build_iteration(model, groups, world.rank), groups, *backend, world, options);
    const auto write = [&](TensorId id, double value) {
      const auto of_type = static_cast<T>(value);
      runner.write(id, std::as_bytes(std::span(&of_type, 1)));
    };
    write(runner.program().losses.front(), cross_entropy[mine]);
    for (const TensorId id : runner.program().auxiliary_losses) write(id, auxiliary[mine]);
    for (const TensorId id : runner.program().z_losses) write(id, 10 * auxiliary[mine]);
    all[mine] = agree(runner, world, 20, loses == world.rank);
  });
  return all;
}

TEST(Agreement, IsTheSumOfEveryRanksSharesAndOfAllLayers) {
  for (const Agreement& one : agreed<double>({1.5, 2.25, 0, 0.25}, {0.5, 1, 2, 0})) {
    EXPECT_EQ(one.cross_entropy, 4);
    EXPECT_EQ(one.auxiliary, 2 * 3.5);
    EXPECT_EQ(one.z_loss, 2 * 35);
    EXPECT_EQ(one.stop_signal, 0);
    EXPECT_TRUE(one.is_finite());
  }
  EXPECT_EQ(agreed<float>({1.5, 2.25}, {0.5, 1})[1].cross_entropy, 3.75);
  EXPECT_EQ(agreed<float>({1.5}, {0.5})[0].auxiliary, 1);
}

TEST(Agreement, AnOutputThatOneRankHasLostEndsAll) {
  for (const Agreement& one : agreed<float>({1, 2, 3, 4}, {0, 0, 0, 0}, 1)) {
    EXPECT_TRUE(one.output_is_lost);
    EXPECT_TRUE(one.asks_to_end());
    EXPECT_EQ(one.cross_entropy, 10);
  }
  EXPECT_FALSE(agreed<float>({1, 2}, {0, 0})[1].asks_to_end());
}

TEST(Agreement, WhatIsNotFiniteOnOneRankIsSoOnAll) {
  for (const Agreement& one : agreed<double>({1, kNan}, {0, 0})) {
    EXPECT_FALSE(one.is_finite());
  }
  for (const Agreement& one : agreed<float>({1, 1}, {-kInfinity, 0})) EXPECT_FALSE(one.is_finite());
}

TEST(AgreementDeathTest, TellsEveryRankOfASignal) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        stop_when_asked();
        std::raise(SIGTERM);
        const auto all = agreed<float>({1, 1}, {0, 0});
        std::exit(all[0].stop_signal == SIGTERM && all[1].stop_signal == SIGTERM ? 42 : 1);
      },
      ::testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace moe::agreement_test
