#include "moe/train/initialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "moe/kernels/fill.h"
#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::initialize_test {
namespace {

using Values = std::map<std::string, std::vector<double>>;

std::vector<double> read(const Runner& runner, TensorId id) {
  const Tensor& tensor = runner.program().tensors[static_cast<std::size_t>(id)];
  std::vector<double> values(static_cast<std::size_t>(tensor.rows * tensor.columns));
  runner.read(id, std::as_writable_bytes(std::span(values)));
  return values;
}

/// The initial values of every parameter, with the experts of all ranks one after the other.
Values begin_with(int ranks, std::int64_t seed) {
  const Model model = test::small_model(DType::f64);
  const Groups groups = make_groups(ranks, ranks);
  std::vector<Values> shards(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    RunOptions options;
    options.memory_limit_bytes = 1 << 28;
    Runner runner(build_iteration(model, groups, world.rank), groups, *backend, world, options);
    initialize_parameters(runner, seed);
    for (const Parameter& parameter : runner.program().parameters) {
      if (parameter.replicas == GroupKind::expert_data || world.rank == 0) {
        shards[static_cast<std::size_t>(world.rank)]
              [runner.program().tensors[static_cast<std::size_t>(parameter.value)].name] =
                  read(runner, parameter.value);
      }
    }
  });
  Values all;
  for (const Values& shard : shards) {
    for (const auto& [name, values] : shard) {
      all[name].insert(all[name].end(), values.begin(), values.end());
    }
  }
  return all;
}

TEST(InitialNormal, IsTheSameForEver) {
  // SplitMix64 and Box-Muller worked in another language; checkpoints and studies rest on them.
  EXPECT_NEAR(initial_normal(parameter_key(1, 2), 3), 1.5549203350747918, 1e-14);
  EXPECT_NEAR(initial_normal(parameter_key(-1, 0), 0), -2.119452797154232, 1e-14);
  EXPECT_NEAR(initial_normal(parameter_key(7, 0xcbf29ce484222325), 1'000'000'000'000),
              0.9664673014552183, 1e-14);
}

TEST(InitialNormal, HasTheMomentsOfANormalAndNoLikenessBetweenNeighbours) {
  constexpr int kCount = 100'000;
  const std::uint64_t key = parameter_key(5, 99);
  double sum = 0, squares = 0, fourth = 0, neighbours = 0, before = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = initial_normal(key, i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    neighbours += x * before;
    before = x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.015);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(fourth / kCount, 3, 0.15);
  EXPECT_NEAR(neighbours / kCount, 0, 0.015);
}

TEST(Initialize, AModelBeginsAlikeHoweverItsExpertsAreDivided) {
  const Values one = begin_with(1, 5);
  EXPECT_GT(one.size(), 10u);
  for (const int ranks : {2, 4, 7}) EXPECT_EQ(begin_with(ranks, 5), one) << ranks;
  EXPECT_NE(begin_with(1, 6), one);
}

TEST(Initialize, ScalesAreOneBiasesZeroAndWeightsSpreadAsTheModelSays) {
  for (const auto& [name, values] : begin_with(1, 5)) {
    if (name.ends_with("bias") || name.ends_with("shift")) {
      EXPECT_EQ(std::count(values.begin(), values.end(), 0.0), std::ssize(values)) << name;
    } else if (name.ends_with("scale")) {
      EXPECT_EQ(std::count(values.begin(), values.end(), 1.0), std::ssize(values)) << name;
    } else {
      EXPECT_EQ(std::count(values.begin(), values.end(), values.front()), 1) << name;
    }
  }
  int checked = 0;
  for (const auto& [name, values] : begin_with(1, 5)) {
    // Weights that feed the residual stream of 2 blocks begin with 0.02 / sqrt(2 * 2).
    const double expected = name.ends_with("experts.down.weight") ? 0.01 : 0.02;
    if (expected == 0.02 && !name.ends_with("experts.up.weight")) continue;
    ++checked;
    double squares = 0;
    for (const double x : values) squares += x * x;
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), expected, expected / 40);
  }
  EXPECT_EQ(checked, 2);
}

TEST(Initialize, AModelBeginsAlikeOnAnyNumberOfThreads) {
  Model model = test::small_model(DType::f32);
  model.vocabulary = 5000;  // a table large enough for several threads
  const auto world = make_solo_communicator();
  const Groups groups = make_groups(1, 1);
  RunOptions options;
  options.memory_limit_bytes = 1 << 28;
  const auto table_with = [&](int threads) {
    const auto backend = make_cpu_backend(threads, Waiting::awake);
    Runner runner(build_iteration(model, groups, 0), groups, *backend, *world, options);
    initialize_parameters(runner, 5);
    const TensorId table = runner.program().parameters.front().value;
    const Tensor& tensor = runner.program().tensors[static_cast<std::size_t>(table)];
    std::vector<float> values(static_cast<std::size_t>(tensor.rows * tensor.columns));
    runner.read(table, std::as_writable_bytes(std::span(values)));
    return values;
  };
  const std::vector<float> one = table_with(1);
  ASSERT_GT(one.size(), 2U << 15);
  EXPECT_EQ(table_with(2), one);
  EXPECT_EQ(table_with(7), one);
}

TEST(Initialize, ClearsGradientsAndOptimizerState) {
  const auto world = make_solo_communicator();
  const auto backend = make_cpu_backend(1);
  const Groups groups = make_groups(1, 1);
  RunOptions options;
  options.memory_limit_bytes = 1 << 28;
  Runner runner(build_iteration(test::small_model(DType::f64), groups, 0), groups, *backend, *world,
                options);
  const Parameter& parameter = runner.program().parameters.front();
  ASSERT_EQ(parameter.optimizer_state.size(), 2u);
  std::vector<TensorId> cleared = parameter.optimizer_state;
  cleared.push_back(parameter.gradient);
  for (const TensorId id : cleared) {
    const std::vector<double> garbage(read(runner, id).size(), 3.0);
    runner.write(id, std::as_bytes(std::span(garbage)));
  }
  initialize_parameters(runner, 1);
  for (const TensorId id : cleared) {
    const auto values = read(runner, id);
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0), std::ssize(values));
  }
}

}  // namespace
}  // namespace moe::initialize_test
