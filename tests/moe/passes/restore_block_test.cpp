#include "moe/passes/restore_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "moe/errors.h"
#include "moe/memory/memory_plan.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"

namespace moe::restore_block_test {
namespace {

using test::largest_difference;
using test::largest_state_difference;
using test::Outcome;
using test::small_model;
using test::train_small;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Schedule kPlain{"plain", {}};

Schedule restored(const Model& model, RestoreDense dense) {
  Schedule schedule{"restored", {}};
  for (int block = 0; block < model.blocks; ++block) {
    schedule.decisions.push_back(RestoreBlock{block, dense});
  }
  return schedule;
}

/// Models of either kind of norm, positions and dense networks.
std::vector<Model> models() {
  std::vector<Model> models(2, small_model(DType::f32));
  models[1].norm = Norm::rms_norm;
  models[1].positions = Positions::rotary;
  models[1].expert = "mixtral";
  models[1].shared_experts = 1;
  models[1].micro_batches = 2;
  models[1].global_batch = models[1].capacity_groups = 56;
  return models;
}

TEST(RestoreBlock, ChangesNoBit) {
  for (const Model& model : models()) {
    for (const Layout& layout : {Layout{1, 1, 1}, Layout{1, 2, 2, 2}, Layout{1, 2, 1, 1, 2}}) {
      const Outcome plain = train_small(model, kPlain, layout, 2);
      for (const RestoreDense dense : {RestoreDense::recompute, RestoreDense::offload}) {
        const Outcome outcome = train_small(model, restored(model, dense), layout, 2);
        EXPECT_EQ(outcome.losses, plain.losses) << to_text(layout);
        EXPECT_EQ(largest_difference(outcome, plain), 0) << to_text(layout);
        EXPECT_EQ(largest_state_difference(outcome, plain), 0) << to_text(layout);
        EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks) << to_text(layout);
        EXPECT_EQ(outcome.touched_host_peaks, outcome.planned_host_peaks) << to_text(layout);
      }
    }
  }
}

TEST(RestoreBlock, NeedsLessMemory) {
  Model model = small_model(DType::f32);
  model.blocks = 6;
  model.sequence_length = 32;
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  const auto peak = [&](const Schedule& schedule, Pool pool) {
    RunOptions options;
    Program scheduled = apply(program, schedule);
    options.memory_limit_bytes = options.host_memory_limit_bytes = 1 << 28;
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    const std::unique_ptr<Communicator> solo = make_solo_communicator();
    Runner runner(std::move(scheduled), make_groups(1, 1), *backend, *solo, options);
    const IterationResult result = runner.iterate();
    return pool == Pool::host ? result.planned_host_peak_bytes : result.planned_peak_bytes;
  };
  for (const RestoreDense dense : {RestoreDense::recompute, RestoreDense::offload}) {
    Schedule schedule;
    std::int64_t before = peak(schedule, Pool::device);
    const std::int64_t plain = before;
    EXPECT_EQ(peak(schedule, Pool::host), 0);
    for (const int block : {0, 2, 4}) {
      schedule.decisions.push_back(RestoreBlock{block, dense});
      const std::int64_t bytes = peak(schedule, Pool::device);
      // How tightly tensors are packed differs from one Program to the next.
      EXPECT_LT(static_cast<double>(bytes), 1.03 * static_cast<double>(before)) << block;
      before = bytes;
    }
    EXPECT_LT(before, plain);
    EXPECT_EQ(peak(schedule, Pool::host) > 0, dense == RestoreDense::offload);
  }
}

TEST(RestoreBlock, RepeatsNoCommunicationAndNoGate) {
  const Model model = small_model(DType::f32);
  const Program whole = build_iteration(model, make_groups({1, 2, 2, 2}), 0);
  const Program program = apply(whole, restored(model, RestoreDense::recompute));
  EXPECT_GT(program.ops.size(), whole.ops.size());
  for (const Op& op : program.ops) {
    if (!op.name.ends_with(" again")) continue;
    EXPECT_FALSE(is_communication(op)) << op.name;
    EXPECT_EQ(op.phase, Phase::backward);
    EXPECT_FALSE(uses_routed_rows(program, op)) << op.name;
  }
}

TEST(RestoreBlock, IsRefusedWhereThereIsNoSuchBlock) {
  const Program program = build_iteration(small_model(DType::f32), make_groups(1, 1), 0);
  EXPECT_THAT(
      [&] {
        apply(program, RestoreBlock{7, RestoreDense::offload});
      },
      ThrowsMessage<Refusal>(HasSubstr("expected one of layers 0, 1")));
}

TEST(RestoreBlock, IsADecisionOfScheduleFiles) {
  const Schedule schedule = restored(small_model(DType::f32), RestoreDense::offload);
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
}

}  // namespace
}  // namespace moe::restore_block_test
