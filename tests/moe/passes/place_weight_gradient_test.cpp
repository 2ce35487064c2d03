#include "moe/passes/place_weight_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"

namespace moe::place_weight_gradient_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::largest_difference;
using test::Outcome;
using test::train_small;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Model two_moe_blocks(DType dtype = DType::f64) { return all_moe_model(dtype, 2); }

/// Names of the ops from the n-th exchange of the layer's backward phase on.
std::vector<std::string> from_exchange(const Program& program, int layer, Direction direction,
                                       int chunk, std::size_t count) {
  auto op = std::find_if(program.ops.begin(), program.ops.end(), [&](const Op& one) {
    return one.layer == layer && one.phase == Phase::backward && one.chunk.index == chunk &&
           direction_of(one) == direction;
  });
  std::vector<std::string> names;
  for (; op != program.ops.end() && names.size() < count; ++op) names.push_back(op->name);
  return names;
}

TEST(PlaceWeightGradient, PutsTheOpRightAfterTheLaunch) {
  const Program whole = build_iteration(two_moe_blocks(), make_groups(2, 2), 0);
  const auto made_by = [&](const std::string& parameter) {
    for (const Op& op : whole.ops) {
      if (!makes_weight_gradients(whole, op)) continue;
      for (const Use& use : op.writes) {
        if (whole.tensors[use.tensor].name == "d_" + parameter) return op.name;
      }
    }
    return std::string();
  };
  const std::string parameter = "block1.attention.output.weight", op = made_by(parameter);
  ASSERT_NE(op, "");
  const Program placed = apply(whole, PlaceWeightGradient{parameter, 0, Direction::combine, 0});
  EXPECT_THAT(from_exchange(placed, 0, Direction::combine, 0, 2), ElementsAre(::testing::_, op));
  EXPECT_EQ(placed.ops.size(), whole.ops.size());
}

TEST(PlaceWeightGradient, LeavesLossesAndGradientsAsTheyWereBitForBit) {
  const Model model = two_moe_blocks();
  const Outcome reference = train_small(model, chunked(model, 1, 1), 4, 2);
  const Program program = build_iteration(model, make_groups(4, 4), 0);
  int legal = 0;
  for (const Parameter& parameter : program.parameters) {
    const std::string& name = program.tensors[parameter.value].name;
    for (const int layer : {0, 1}) {
      for (const Direction direction : {Direction::dispatch, Direction::combine}) {
        Schedule schedule = chunked(model, 1, 1);
        schedule.decisions.push_back(PlaceWeightGradient{name, layer, direction, 0});
        if (!is_legal(program, schedule)) continue;
        ++legal;
        const Outcome outcome = train_small(model, schedule, 4, 2);
        EXPECT_EQ(outcome.losses, reference.losses) << name;
        EXPECT_EQ(outcome.gradients, reference.gradients) << name;
        EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks) << name;
      }
    }
  }
  EXPECT_GT(legal, 20);
}

TEST(PlaceWeightGradient, TakesAllPiecesOfAnExpertsGradientInEveryMicroBatch) {
  Model model = two_moe_blocks();
  model.micro_batches = 2;
  Schedule schedule = chunked(model, 2, 3);
  schedule.decisions.push_back(OrderMicroBatches{MicroBatchOrder::one_f_one_b});
  const Outcome reference = train_small(model, schedule, 2, 1);
  schedule.decisions.push_back(
      PlaceWeightGradient{"block1.experts.up.weight", 0, Direction::dispatch, 1});
  const Program placed = apply(build_iteration(model, make_groups(2, 2), 0), schedule);
  const auto names = from_exchange(placed, 0, Direction::dispatch, 1, 4);
  EXPECT_EQ(names[1], names[2]);
  EXPECT_EQ(names[2], names[3]);
  EXPECT_EQ(train_small(model, schedule, 2, 1).gradients, reference.gradients);
}

TEST(PlaceWeightGradient, RefusesWhatIsNotThereAndWhatDependsOnTheExchange) {
  const Program program = build_iteration(two_moe_blocks(), make_groups(2, 2), 0);
  const auto refusal = [&](const PlaceWeightGradient& placing) {
    try {
      apply(program, placing);
    } catch (const Refusal& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({"block9.none", 0, Direction::dispatch, 0}),
              HasSubstr("block9.none after dispatch of layer 0: no parameter is called that"));
  EXPECT_THAT(refusal({"block1.attention.output.weight", 5, Direction::dispatch, 0}),
              HasSubstr("no such exchange in the backward phase"));
  EXPECT_THAT(refusal({"block1.attention.output.weight", 0, Direction::dispatch, 3}),
              HasSubstr("layer 0, chunk 3: no such exchange"));
  // Ops after the exchange that need the rows it has brought.
  EXPECT_THAT(refusal({"block0.attention.output.weight", 0, Direction::dispatch, 0}),
              HasSubstr("stands between, and one uses what the other makes"));
}

TEST(PlaceWeightGradient, ComesBackFromJson) {
  const Schedule schedule{"mine", {PlaceWeightGradient{"head.weight", 3, Direction::combine, 2}}};
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  EXPECT_EQ(to_json(schedule.decisions[0]),
            R"({"chunk":2,"decision":"place_weight_gradient","direction":"combine","layer":3,)"
            R"("parameter":"head.weight"})");
}

}  // namespace
}  // namespace moe::place_weight_gradient_test
