#include "tuner/planners/gradients/gradient_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/tuner/planners/sharded_situation.h"
#include "tests/tuner/single_costs.h"
#include "tuner/costs/op_costs.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/planners/pipeline/pipeline_times.h"

namespace tuner::gradient_places_test {
namespace {

using namespace test;
using moe::ExchangePlace;
using ::testing::ElementsAre;

struct GradientPlacesTest : ::testing::Test, ShardedSituation {
  moe::Schedule pipeline = pipeline_with_gradients(program, "", {1, 2}, InNode::beside);
  moe::Program scheduled = moe::apply(program, pipeline);

  UnplacedGradients unplaced(double slice_bytes = 0) const {
    return unplaced_gradients(situation, pipeline, slice_bytes);
  }
  double gradient_bytes(int layer) const {
    double bytes = 0;
    for (const moe::Op& op : program.ops) {
      if (op.layer != layer || !std::holds_alternative<moe::AllReduce>(op.kind)) continue;
      for (const moe::Use& use : op.writes) {
        const moe::Tensor& tensor = program.tensors[static_cast<std::size_t>(use.tensor)];
        bytes += static_cast<double>(tensor.rows * tensor.columns * 4);
      }
    }
    return bytes;
  }
};

TEST_F(GradientPlacesTest, StandInTheOrderOfBackward) {
  const auto stages = unplaced().stages;
  ASSERT_EQ(stages.size(), 1u);
  std::vector<std::pair<ExchangePlace, int>> places;
  for (const GradientPlace& place : stages[0].places) {
    places.emplace_back(place.after, place.at);
    EXPECT_EQ(moe::place_of(scheduled, place.after, place.at), place.op);
  }
  ASSERT_EQ(places.size(), 12u);
  EXPECT_THAT(
      std::vector(places.begin(), places.begin() + 4),
      ElementsAre(std::pair(ExchangePlace::dispatch, 3), std::pair(ExchangePlace::combine, 3),
                  std::pair(ExchangePlace::block, 3), std::pair(ExchangePlace::dispatch, 2)));
}

TEST_F(GradientPlacesTest, AreIdleForWhatIsComputedMeanwhile) {
  const StageGradients stage = unplaced().stages[0];
  const auto op_cost = single_costs(scheduled, groups, routing, costs, cluster);
  // After the combine of block 2 comes the rest of block 2.
  const GradientPlace &combine = stage.places[4], &block = stage.places[5];
  ASSERT_EQ(combine.after, ExchangePlace::combine);
  double seconds = 0;
  for (std::size_t i = combine.op + 1; i <= block.op; ++i) {
    seconds += alone_seconds(op_cost[i], groups, cluster);
  }
  EXPECT_NEAR(combine.idle_s, seconds, 1e-12);
  EXPECT_GT(combine.idle_s, 5 * block.idle_s) << "attention, and what comes before a dispatch";
  const PipelineTimes times =
      pipeline_times(situation, pipeline).at({{2, 0}, moe::Phase::backward});
  EXPECT_DOUBLE_EQ(stage.places[3].idle_s, overlappable_s(2, before_combine(times)));
}

TEST_F(GradientPlacesTest, GrainsAreAllGradientsAndUsableOnceTheyExist) {
  const StageGradients stage = unplaced().stages[0];
  std::map<int, double> bytes;
  std::map<int, std::vector<std::size_t>> usable;
  for (const GradientGrain& grain : stage.grains) {
    bytes[grain.layer] += grain.bytes;
    usable[grain.layer].push_back(grain.usable);
  }
  for (const int layer : {-1, 0, 1, 2, 3}) {
    EXPECT_DOUBLE_EQ(bytes[layer], gradient_bytes(layer)) << layer;
  }
  for (const int block : {1, 2, 3}) {  // after itself at the earliest
    for (const std::size_t place : usable[block]) EXPECT_EQ(place, (3u - block) * 3 + 2);
  }
  // The gradients of the head exist before those of any block, those of the embedding last.
  EXPECT_EQ(usable[-1].front(), 0u);
  EXPECT_EQ(usable[-1].back(), stage.places.size());
}

TEST_F(GradientPlacesTest, AllReduceIsTheirMeanLine) {
  const StageGradients stage = unplaced().stages[0];
  const auto op_cost = single_costs(scheduled, groups, routing, costs, cluster);
  double seconds = 0, calls = 0, bytes = 0;
  for (std::size_t i = 0; i < scheduled.ops.size(); ++i) {
    if (!std::holds_alternative<moe::AllReduce>(scheduled.ops[i].kind)) continue;
    seconds += alone_seconds(op_cost[i], groups, cluster);
    calls += 1;
  }
  for (const int layer : {-1, 0, 1, 2, 3}) bytes += gradient_bytes(layer);
  EXPECT_NEAR(seconds_of(stage.all_reduce, calls, bytes), seconds, 1e-9);
}

TEST_F(GradientPlacesTest, GoToPlacesByBytesInTheirOrder) {
  StageGradients stage;
  stage.places.resize(3);
  for (int i = 0; i < 4; ++i) stage.grains.push_back({5, i, 10, 0});
  stage.grains.push_back({4, 0, 10, 2});
  // 14 is nearer to one grain than to two; what is over comes with the next.
  EXPECT_THAT(places_for_bytes(stage, {14, 0, 30}), ElementsAre(0, 2, 2, 2, 3));
  EXPECT_THAT(places_for_bytes(stage, {0, 0, 100}), ElementsAre(2, 2, 2, 2, 2));
  EXPECT_THAT(places_for_bytes(stage, {0, 100, 0}), ElementsAre(1, 1, 1, 1, 3));
}

TEST_F(GradientPlacesTest, NeighboursAtOnePlaceAreOnePiece) {
  const UnplacedGradients gradients = unplaced();
  const StageGradients& stage = gradients.stages[0];
  GrainPlaces places;
  int grains = 0;  // of block 2
  for (const GradientGrain& grain : stage.grains) {
    grains += grain.layer == 2;
    const bool early = grain.layer == 2 && grain.index < 8;
    places.push_back(early ? 6 : grain.layer == 2 ? 7 : stage.places.size());
  }
  const moe::Schedule schedule =
      with_gradients(gradients, [&](const StageGradients&) { return places; });
  EXPECT_THAT(moe::decisions_of<moe::SliceAllReduce>(schedule),
              ElementsAre(moe::SliceAllReduce{2, 2, {8, grains - 8}}));
  EXPECT_GE(grains, 32);
  EXPECT_THAT(moe::decisions_of<moe::PlaceAllReduce>(schedule),
              ElementsAre(moe::PlaceAllReduce{2, 0, ExchangePlace::dispatch, 1},
                          moe::PlaceAllReduce{2, 1, ExchangePlace::combine, 1}));
  EXPECT_NO_THROW(moe::apply(program, schedule));
}

TEST_F(GradientPlacesTest, NoneIsPutBeforeItExists) {
  // As early as can be, and earlier.
  const moe::Schedule schedule = with_gradients(
      unplaced(), [](const StageGradients& stage) { return GrainPlaces(stage.grains.size(), 0); });
  EXPECT_NO_THROW(moe::apply(program, schedule));
  EXPECT_THAT(moe::decisions_of<moe::PlaceAllReduce>(schedule),
              ::testing::Contains(moe::PlaceAllReduce{2, 0, ExchangePlace::block, 2}));
}

TEST_F(GradientPlacesTest, ChunksOfSoManyBytesStayApart) {
  const double chunk_bytes = gradient_bytes(1) / 2.5;
  const UnplacedGradients gradients = unplaced(chunk_bytes);
  int of_block = 0;
  for (const GradientGrain& grain : gradients.stages[0].grains) {
    EXPECT_LT(grain.bytes, 1.1 * chunk_bytes);
    of_block += grain.layer == 1;
  }
  EXPECT_EQ(of_block, 3);
  const moe::Schedule schedule = with_gradients(gradients, [](const StageGradients& stage) {
    return GrainPlaces(stage.grains.size(), stage.places.size());
  });
  EXPECT_THAT(moe::decisions_of<moe::SliceAllReduce>(schedule),
              ::testing::Contains(moe::SliceAllReduce{1, 3, {1, 1, 1}}));
}

TEST(GradientPlaces, AreOfEachPipelineStage) {
  ShardedSituation one;
  const moe::Groups groups = groups_of(one.cluster, moe::Layout{1, 2, 1, 1, 2});
  const moe::Program program = moe::build_iteration(one.model, groups, 0);
  const moe::Routing routing = make_routing("uniform", program, groups, 1);
  const Situation situation{program, groups, routing, one.costs, one.cluster};
  const moe::Schedule pipeline = pipeline_with_gradients(program, "", {1, 1});
  const UnplacedGradients gradients = unplaced_gradients(situation, pipeline);
  const auto& stages = gradients.stages;
  ASSERT_EQ(stages.size(), 2u);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(stages[stage].places.size(), 6u);
    for (const GradientPlace& place : stages[stage].places) {
      EXPECT_EQ(place.at / 2, static_cast<int>(stage));
    }
  }
  const auto third = [](const StageGradients& stage) {
    return GrainPlaces(stage.grains.size(), 3);
  };
  EXPECT_NO_THROW(moe::apply(program, with_gradients(gradients, third)));
}

}  // namespace
}  // namespace tuner::gradient_places_test
