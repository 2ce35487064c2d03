#include "moe/passes/place_allreduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/train/training_case.h"

namespace moe::place_allreduce_test {
namespace {

using test::all_moe_model;
using test::chunked;
using test::Outcome;
using test::train_small;
using ::testing::HasSubstr;

Model three_moe_blocks() { return all_moe_model(DType::f64, 3); }

Program iteration(const Layout& layout = {1, 4, 1}) {
  return build_iteration(three_moe_blocks(), make_groups(layout), 0);
}

std::size_t place_of_reduction(const Program& program, int layer, int slice = 0) {
  const auto op = std::find_if(program.ops.begin(), program.ops.end(), [&](const Op& one) {
    return one.layer == layer && one.chunk.index == slice &&
           std::holds_alternative<AllReduce>(one.kind);
  });
  return static_cast<std::size_t>(op - program.ops.begin());
}

TEST(PlaceAllReduce, StandsAfterTheLastDispatchCombineOrOpOfABlock) {
  const Schedule cut = chunked(three_moe_blocks(), 1, 3);
  const Program whole = apply(iteration({1, 2, 2}), cut);
  struct Expected {
    ExchangePlace after;
    std::string before;  ///< kind of the op that it stands after, "" = any
  };
  for (const auto& [after, before] :
       {Expected{ExchangePlace::dispatch, "gather_rows"},
        Expected{ExchangePlace::combine, "all_to_all"}, Expected{ExchangePlace::block, ""}}) {
    const Program placed = apply(whole, PlaceAllReduce{2, 0, after, 1});
    EXPECT_EQ(placed.ops.size(), whole.ops.size());
    const std::size_t at = place_of_reduction(placed, 2);
    const Op& op = placed.ops[at - 1];
    EXPECT_EQ(op.layer, 1);
    EXPECT_EQ(place_of(placed, after, 1), at - 1);
    if (!before.empty()) {
      EXPECT_EQ(kind_name(op), before);
      EXPECT_EQ(op.chunk.index, 2);
    } else {
      EXPECT_TRUE(std::none_of(placed.ops.begin() + static_cast<std::ptrdiff_t>(at),
                               placed.ops.end(), [](const Op& later) {
                                 return later.layer == 1 && later.phase == Phase::backward &&
                                        !comes_once(later);
                               }));
    }
  }
}

TEST(PlaceAllReduce, TakesThePieceOfEveryGroup) {
  // Copies of experts and of dense parameters are reduced apart.
  const Program sliced = apply(iteration({2, 2, 1}), SliceAllReduce{2, 3});
  const Program placed = apply(sliced, PlaceAllReduce{2, 1, ExchangePlace::combine, 0});
  const std::size_t at = place_of_reduction(placed, 2, 1);
  ASSERT_LT(at + 1, placed.ops.size());
  for (const std::size_t i : {at, at + 1}) {
    EXPECT_TRUE(std::holds_alternative<AllReduce>(placed.ops[i].kind));
    EXPECT_EQ(placed.ops[i].chunk.index, 1);
  }
  EXPECT_GT(place_of_reduction(placed, 2, 0), at + 1);
}

TEST(PlaceAllReduce, OfSeveralAtOnePlaceTheHighestLayerComesFirst) {
  const Schedule schedule{"",
                          {PlaceAllReduce{1, 0, ExchangePlace::combine, 0},
                           PlaceAllReduce{2, 0, ExchangePlace::combine, 0}}};
  const Program placed = apply(iteration(), schedule);
  EXPECT_EQ(place_of_reduction(placed, 2) + 1, place_of_reduction(placed, 1));
}

TEST(PlaceAllReduce, LeavesLossesAndGradientsAsTheyWereBitForBit) {
  const Model model = three_moe_blocks();
  for (const Layout& layout : {Layout{1, 4, 1}, Layout{2, 2, 1}, Layout{1, 2, 2, 2}}) {
    Schedule before = chunked(model, 2, 2);
    for (const int layer : {-1, 1, 2}) before.decisions.push_back(SliceAllReduce{layer, 4});
    const Outcome reference = train_small(model, before, layout, 2);
    const Program program = build_iteration(model, make_groups(layout), 0);
    int legal = 0;
    for (const int layer : {-1, 0, 1, 2}) {
      for (const int at : {0, 1, 2}) {
        for (const ExchangePlace after :
             {ExchangePlace::dispatch, ExchangePlace::combine, ExchangePlace::block}) {
          Schedule schedule = before;
          schedule.decisions.push_back(StreamAssignment{"all_reduce", Stream::inter_node});
          const int slice = layer == 0 ? 0 : 3;
          schedule.decisions.push_back(PlaceAllReduce{layer, slice, after, at});
          if (!is_legal(program, schedule)) continue;
          ++legal;
          const Outcome outcome = train_small(model, schedule, layout, 2);
          EXPECT_EQ(outcome.losses, reference.losses) << layer << " at " << at;
          EXPECT_EQ(outcome.gradients, reference.gradients) << layer << " at " << at;
          EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks) << layer << " at " << at;
        }
      }
    }
    // Of the last slice outside the blocks (the head's) 9, of blocks 2, 1 and 0 7, 4 and 1.
    EXPECT_EQ(legal, 9 + 7 + 4 + 1);
  }
}

TEST(PlaceAllReduce, WaitsForTheLastMicroBatch) {
  Model model = three_moe_blocks();
  model.micro_batches = 2;
  for (const MicroBatchOrder order : {MicroBatchOrder::gpipe, MicroBatchOrder::one_f_one_b}) {
    Schedule schedule = chunked(model, 1, 2);
    schedule.decisions.push_back(OrderMicroBatches{order});
    const Outcome reference = train_small(model, schedule, 2, 1);
    schedule.decisions.push_back(PlaceAllReduce{2, 0, ExchangePlace::dispatch, 1});
    const Program placed = apply(build_iteration(model, make_groups(2, 2), 0), schedule);
    EXPECT_EQ(placed.ops[place_of_reduction(placed, 2) - 1].micro_batch, 1);
    EXPECT_EQ(train_small(model, schedule, 2, 1).gradients, reference.gradients);
  }
}

TEST(PlaceAllReduce, RefusesWhatIsNotThereAndWhatDoesNotExistYet) {
  const auto refusal = [](const PlaceAllReduce& placing) {
    try {
      apply(iteration(), placing);
    } catch (const Refusal& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({2, 0, ExchangePlace::dispatch, 9}),
              HasSubstr("layer 2, slice 0 after dispatch of 9: no such place in the backward"));
  EXPECT_THAT(refusal({9, 0, ExchangePlace::combine, 0}), HasSubstr("no gradients are reduced"));
  EXPECT_THAT(refusal({2, 1, ExchangePlace::combine, 0}), HasSubstr("no gradients are reduced"));
  EXPECT_THAT(refusal({1, 0, ExchangePlace::dispatch, 1}),
              HasSubstr("of layer 1 makes some of them, and comes later"));
  EXPECT_THAT(refusal({0, 0, ExchangePlace::block, 1}), HasSubstr("of layer 0 makes some"));
  EXPECT_THAT(refusal({-1, 0, ExchangePlace::block, 1}), HasSubstr("of layer -1 makes some"));
  EXPECT_EQ(refusal({1, 0, ExchangePlace::block, 1}), "");
  EXPECT_EQ(refusal({1, 0, ExchangePlace::dispatch, 0}), "");
}

TEST(PlaceAllReduce, ComesBackFromJson) {
  const Schedule schedule{"mine", {PlaceAllReduce{-1, 2, ExchangePlace::combine, 3}}};
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  EXPECT_EQ(to_json(schedule.decisions[0]),
            R"({"after":"combine","at":3,"decision":"place_allreduce","layer":-1,"slice":2})");
  EXPECT_EQ(schedule_from_json(R"({"planner": "mine", "decisions": [
      {"decision": "place_allreduce", "layer": -1, "piece": 2, "behind": "combine", "at": 3}]})"),
            schedule)
      << "by the former names of its fields";
}

TEST(PlaceAllReduce, OneGradientHasOnePlace) {
  EXPECT_THROW(apply(iteration(), Schedule{"",
                                           {PlaceAllReduce{2, 0, ExchangePlace::combine, 0},
                                            PlaceAllReduce{2, 0, ExchangePlace::dispatch, 1}}}),
               Refusal);
}

}  // namespace
}  // namespace moe::place_allreduce_test
