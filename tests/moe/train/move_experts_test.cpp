#include "moe/train/move_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/rows/random_placement.h"
#include "tests/moe/train/training_case.h"

namespace moe::move_experts_test {
namespace {

using test::chunked;
using test::largest_state_difference;
using test::Outcome;
using test::random_homes;
using test::Schedules;
using test::small_model;
using test::train_in_turn;
using test::train_small;

constexpr int kSteps = 6;

/// Other homes for every step but the third and the last; in order once.
Schedules wandering(const Schedule& schedule, const Model& model, int members) {
  std::mt19937 random(11);
  Schedules in_turn;
  for (int step = 0; step < kSteps; ++step) {
    if (step == 2 || step == kSteps - 1) {
      in_turn.push_back(in_turn.back());
      continue;
    }
    Schedule& next = in_turn.emplace_back(schedule);
    if (step == 3) continue;
    for (int block = 0; block < model.blocks; ++block) {
      if (!has_experts(model, block)) continue;
      next.decisions.push_back(
          PlaceExperts{block, random_homes(random, static_cast<int>(model.experts), members)});
    }
  }
  return in_turn;
}

void expect_nothing_changed(const Model& model, const Schedule& schedule, const Groups& groups) {
  const Outcome kept = train_small(model, schedule, groups, kSteps);
  const Outcome moved =
      train_in_turn(model, wandering(schedule, model, groups.layout.expert), groups, kSteps);
  EXPECT_EQ(moved.losses, kept.losses) << to_text(groups.layout);
  EXPECT_TRUE(moved.gradients == kept.gradients) << to_text(groups.layout);
  EXPECT_TRUE(moved.state == kept.state)
      << to_text(groups.layout) << ": " << largest_state_difference(moved, kept);
}

TEST(MoveExperts, ParametersGradientsAndOptimizerStatesAreThoseOfExpertsThatStay) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::sgd}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      Model model = small_model(dtype);
      model.optimizer = optimizer;
      model.learning_rate = 0.01;
      for (const int ranks : {2, 4, 7}) {
        expect_nothing_changed(model, {"sequential", {}}, make_groups(ranks, ranks));
      }
    }
  }
}

TEST(MoveExperts, GoesWithEveryLayoutMicroBatchesAndChunks) {
  for (const Layout& layout : {Layout{2, 2, 1}, Layout{1, 2, 2}, Layout{1, 2, 2, 2},
                               Layout{1, 2, 1, 1, 2}, Layout{1, 4, 1, 1, 2}, Layout{2, 2, 2}}) {
    Model model = small_model(DType::f32);
    model.expert = layout.data > 1 ? "mixtral" : "gpt";
    model.blocks = 4;
    model.global_batch = model.capacity_groups = 48;
    model.micro_batches = 3;
    model.learning_rate = 0.01;
    expect_nothing_changed(model, chunked(model, 2, 3), make_groups(layout));
  }
}

TEST(MoveExperts, BringsTheSharesOfAShardedOptimizerWhereTheyBelong) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Model model = small_model(dtype);
    model.learning_rate = 0.01;
    expect_nothing_changed(model, {"sharded", {ShardOptimizer{}}}, make_groups(Layout{2, 2, 1}));
  }
}

TEST(MoveExperts, LeavesReplicasNothingBehind) {
  // Replicas of other experts in every step, with their holders where the new homes allow.
  Model model = small_model(DType::f64);
  std::mt19937 random(5);
  Schedules in_turn;
  for (int step = 0; step < kSteps; ++step) {
    const ExpertHomes homes = random_homes(random, 28, 4);
    in_turn.push_back({"replicated",
                       {PlaceExperts{1, homes},
                        ReplicateExperts{1, test::random_placement(random, 28, 4, homes)}}});
  }
  const Outcome kept = train_small(model, {"sequential", {}}, 4, kSteps);
  const Outcome moved = train_in_turn(model, in_turn, make_groups(4, 4), kSteps);
  for (std::size_t step = 0; step < kSteps; ++step) {
    EXPECT_NEAR(moved.losses[step], kept.losses[step], 1e-10) << step;
  }
  EXPECT_LT(largest_state_difference(moved, kept), 1e-7) << "Adam divides by what may be tiny";
}

TEST(MoveExperts, TrafficIsWhatChangesRanks) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(Layout{2, 2, 1});
  const Program program = build_iteration(model, groups, 0);
  const ExpertState state = expert_state(program, 1);
  EXPECT_EQ(state.bytes, 3 * 4 * (2 * 16 * 24 + 16 + 24)) << "Adam keeps two of each";
  EXPECT_EQ(state.tensors, 3 * 4);
  ExpertHomes homes = homes_in_order(28, 2);
  std::swap(homes[2], homes[20]);
  const ExpertTraffic traffic = expert_traffic(program, {{1, homes}});
  EXPECT_EQ(traffic.experts, 2);
  EXPECT_EQ(traffic.bytes, 2 * 2 * state.bytes) << "of both copies of the experts";
  EXPECT_EQ(expert_traffic(program, {}).experts, 0);
  const Program there = apply(program, PlaceExperts{1, homes});
  EXPECT_EQ(expert_traffic(there, {{1, homes}}).bytes, 0);
  EXPECT_EQ(expert_traffic(there, {}).bytes, traffic.bytes) << "back in order";
  // Shares of experts: half the bytes each, but for biases that both have.
  const Program shared = build_iteration(model, make_groups(Layout{1, 2, 2}), 0);
  EXPECT_EQ(expert_state(shared, 1).bytes, 3 * 4 * (2 * 16 * 12 + 12 + 16));
}

}  // namespace
}  // namespace moe::move_experts_test
