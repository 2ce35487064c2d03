#include "moe/run/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/train/initialize.h"
#include "tests/moe/run/layer_program.h"
#include "tests/moe/train/training_case.h"

namespace moe::runner_test {
namespace {

using test::small_model;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void construct(const Model& model, std::int64_t memory_limit_bytes, int iterations = 0) {
  const std::unique_ptr<Communicator> world = make_solo_communicator();
  const std::unique_ptr<Backend> backend = make_cpu_backend(1);
  const Groups groups = make_groups(1, 1);
  RunOptions options;
  options.memory_limit_bytes = memory_limit_bytes;
  Runner runner(build_iteration(model, groups, 0), groups, *backend, *world, options);
  initialize_parameters(runner, 1);
  for (int i = 0; i < iterations; ++i) runner.iterate();
}

TEST(Runner, RefusesAPlanOverTheLimitBeforeAnythingRuns) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1;
  EXPECT_THAT([&] { construct(model, 100'000); },
              ThrowsMessage<OutOfMemory>(
                  AllOf(HasSubstr("of arena, "), HasSubstr("more than the limit of 97.7 KiB"),
                        HasSubstr("--memory-limit"), HasSubstr("global_batch"))));
}

TEST(Runner, HasNoMoreThanIsLeftWhenItsCommunicatorsExist) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1;
  const auto world = make_solo_communicator();
  const auto backend = make_cpu_backend(1);
  const Groups groups = make_groups(1, 1);
  int asked = 0;
  const auto limited_to = [&](std::int64_t limit, std::int64_t left) {
    RunOptions options{.memory_limit_bytes = limit, .bytes_left = [&asked, left] {
                         ++asked;
                         return left;
                       }};
    Runner runner(build_iteration(model, groups, 0), groups, *backend, *world, options);
    runner.reschedule(build_iteration(model, groups, 0));
  };
  EXPECT_THAT([&] { limited_to(1 << 28, 100'000); },
              ThrowsMessage<OutOfMemory>(HasSubstr("more than the limit of 97.7 KiB")));
  EXPECT_THAT([&] { limited_to(100'000, 1 << 28); },
              ThrowsMessage<OutOfMemory>(HasSubstr("more than the limit of 97.7 KiB")));
  asked = 0;
  limited_to(0, 1 << 28);
  EXPECT_EQ(asked, 1) << "before the arena is there, and not again";
}

TEST(Runner, RefusesADroplessLayerThatExceedsTheLimitNamingIt) {
  const Model model = small_model(DType::f32);
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  MemoryPlan plan(program, start_rule(program));
  plan.advance({});
  EXPECT_THAT([&] { construct(model, plan.peak_bytes() + 1000, 1); },
              ThrowsMessage<OutOfMemory>(HasSubstr("(layer 1) needs")));
}

TEST(Runner, NeedsALimitWhereNothingElseBoundsTheRows) {
  EXPECT_THROW(construct(small_model(DType::f32), 0), std::invalid_argument);
}

/// A rank alone, about to carry out its first iteration.
struct FirstIteration : ::testing::Test {
  const Model model = small_model(DType::f64);
  const std::unique_ptr<Communicator> world = make_solo_communicator();
  const std::unique_ptr<Backend> backend = make_cpu_backend(1);
  const Groups groups = make_groups(1, 1);
  const Program program = build_iteration(model, groups, 0);
  Runner runner{program, groups, *backend, *world, {.memory_limit_bytes = 1 << 28}};
  FirstIteration() {
    initialize_parameters(runner, 1);
    const std::int32_t one = 1;
    runner.write(program.step, std::as_bytes(std::span(&one, 1)));
  }
};

TEST_F(FirstIteration, WithoutBackwardLeavesParametersAlone) {
  const auto head = [&] {
    std::vector<double> values(static_cast<std::size_t>(model.d_model * model.vocabulary));
    runner.read(program.parameters.back().value, std::as_writable_bytes(std::span(values)));
    return values;
  };
  const std::vector<double> before = head();
  runner.reschedule(forward_only(program));
  runner.iterate();
  EXPECT_EQ(head(), before);
  runner.reschedule(program);
  runner.iterate();
  EXPECT_NE(head(), before);
}

TEST_F(FirstIteration, UpdatesWaitForTheHookAndArePassedOverWhereItSaysSo) {
  const auto all_parameters = [&] {
    std::vector<std::vector<double>> values;
    for (const Parameter& parameter : program.parameters) {
      const Tensor& tensor = program.tensors[parameter.value];
      auto& of_one = values.emplace_back(static_cast<std::size_t>(tensor.rows * tensor.columns));
      runner.read(parameter.value, std::as_writable_bytes(std::span(of_one)));
    }
    return values;
  };
  const auto before = all_parameters();
  bool update = false;
  double loss = 0;
  runner.set_before_update([&] {
    runner.read(program.losses.front(), std::as_writable_bytes(std::span(&loss, 1)));
    EXPECT_EQ(all_parameters(), before);
    return update;
  });
  runner.iterate();
  EXPECT_GT(loss, 0);
  EXPECT_EQ(all_parameters(), before);
  update = true;
  runner.iterate();
  EXPECT_NE(all_parameters(), before);
}

TEST(Runner, WhatNeedsNoRoutedRowsRunsBeforeTheRoutingIsKnown) {
  // The exchange cannot end before rank 1 takes part, and rank 1 waits for rank 0's unrelated op,
  // which stands after all ops that need the routing, on a stream of its own.
  std::promise<void> ended;
  std::shared_future<void> unrelated(ended.get_future());
  bool before_the_routing = false;
  run_local_ranks(2, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    RunOptions options;
    options.memory_limit_bytes = 1 << 20;
    const test::LayerProgram layer;
    Runner runner(layer.build.program, make_groups(2, 2), *backend, world, options);
    layer.write_inputs(runner);
    if (world.rank == 1) {
      before_the_routing =
          unrelated.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
      runner.iterate();
      return;
    }
    runner.iterate_observed([&](const BoundOp& bound) {
      if (bound.op->name == "unrelated") ended.set_value();
    });
  });
  EXPECT_TRUE(before_the_routing);
}

TEST(Runner, OneRanksFailureEndsTheOthersAndIsTheOneReported) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(2, 2);
  const Program program = build_iteration(model, groups, 0);
  MemoryPlan plan(program, start_rule(program));
  plan.advance({});
  const std::int64_t too_little = plan.peak_bytes() + 1000;
  EXPECT_THAT(
      [&] {
        run_local_ranks(2, [&](Communicator& world) {
          const std::unique_ptr<Backend> backend = make_cpu_backend(1);
          RunOptions options;
          options.memory_limit_bytes = world.rank == 1 ? too_little : std::int64_t{1} << 28;
          options.time_limit_s = 20;
          Runner runner(build_iteration(model, groups, world.rank), groups, *backend, world,
                        options);
          initialize_parameters(runner, 1);
          runner.iterate();
        });
      },
      ThrowsMessage<OutOfMemory>(HasSubstr("rank 1")));
}

}  // namespace
}  // namespace moe::runner_test
