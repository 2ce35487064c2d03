#include "moe/passes/place_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/stage_program.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::place_blocks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kDouble = 1e-12;

Model eight_blocks() {
  Model model = small_model(DType::f64);
  model.blocks = 8;
  model.experts = 4;
  model.global_batch = model.capacity_groups = 8;
  model.micro_batches = 4;
  model.capacity_factor.reset();
  model.clip_norm = 0.01;
  return model;
}

Schedule placed(std::vector<int> stages) { return {"placed", {PlaceBlocks{std::move(stages)}}}; }

TEST(PlaceBlocks, EqualStagesAreTheProgramThatThereWas) {
  for (const int stages : {2, 3, 4}) {
    for (const Head head : {Head::untied, Head::tied}) {
      Model model = eight_blocks();
      model.head = head;
      model.gate = "bias_adjusted";
      const Program program = build_iteration(model, make_groups(Layout{1, 1, 1, 1, stages}), 0);
      EXPECT_EQ(to_text(apply(program, PlaceBlocks{stages_of_blocks(program)})), to_text(program));
    }
  }
}

TEST(PlaceBlocks, IsUndoneByTheStagesThatThereWere) {
  const Program program = build_iteration(eight_blocks(), make_groups(Layout{1, 1, 1, 1, 4}), 0);
  const Program in_turn = apply(program, PlaceBlocks{{0, 1, 2, 3, 0, 1, 2, 3}});
  EXPECT_NE(to_text(in_turn), to_text(program));
  EXPECT_EQ(to_text(apply(in_turn, PlaceBlocks{stages_of_blocks(program)})), to_text(program));
}

TEST(PlaceBlocks, PassesRowsOnWhereTheStageChangesAndFromTheLastToTheFirst) {
  const Groups groups = make_groups(Layout{1, 1, 1, 1, 4});
  const std::vector<int> stages{0, 1, 2, 3, 0, 1, 2, 3};
  const Program program = apply(build_iteration(eight_blocks(), groups, 0), placed(stages));
  std::vector<std::pair<int, int>> forward, backward;
  for (const Op& op : program.ops) {
    if (op.layer >= 0 && !std::holds_alternative<PassOn>(op.kind)) {
      EXPECT_EQ(op.stage, stages[static_cast<std::size_t>(op.layer)]) << op.name;
    }
    const auto* passes = std::get_if<PassOn>(&op.kind);
    if (passes == nullptr || op.micro_batch > 0) continue;
    (op.phase == Phase::forward ? forward : backward).emplace_back(op.stage, passes->to_stage);
    const bool is_around = std::abs(op.stage - passes->to_stage) == 3;
    EXPECT_EQ(passes->group == GroupKind::ends, is_around);
  }
  using P = std::pair<int, int>;
  EXPECT_THAT(forward, ElementsAre(P{0, 1}, P{1, 2}, P{2, 3}, P{3, 0}, P{0, 1}, P{1, 2}, P{2, 3}));
  EXPECT_THAT(backward, ElementsAre(P{3, 2}, P{2, 1}, P{1, 0}, P{0, 3}, P{3, 2}, P{2, 1}, P{1, 0}));
  for (int stage = 0; stage < 4; ++stage) {
    const Program part = stage_program(program, stage).program;
    EXPECT_NO_THROW(validate(part));
    for (const Parameter& parameter : part.parameters) {
      if (parameter.layer >= 0) {
        EXPECT_EQ(stages[static_cast<std::size_t>(parameter.layer)], stage);
      }
    }
  }
}

TEST(PlaceBlocks, ChunksAreBlocksThatFollowEachOtherInAStage) {
  EXPECT_THAT(chunks_of_blocks({0, 0, 1, 1}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(chunks_of_blocks({0, 1, 0, 1, 1}), ElementsAre(0, 1, 2, 3, 3));
}

TEST(PlaceBlocks, ChangesNeitherLossesNorGradientsNorWhatIsLearnt) {
  struct Case {
    Layout layout;
    std::vector<int> stages;
  };
  for (const Head head : {Head::untied, Head::tied}) {
    for (const char* gate : {"softmax", "bias_adjusted"}) {
      Model model = eight_blocks();
      model.head = head;
      model.gate = gate;
      const Outcome one = train_small(model, {"sequential", {}}, 1, 3);
      for (const Case& each : {Case{{1, 1, 1, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 1}},
                               Case{{1, 2, 1, 1, 2}, {0, 1, 0, 1, 0, 1, 0, 1}},
                               Case{{1, 1, 1, 1, 4}, {0, 1, 2, 3, 0, 1, 2, 3}},
                               Case{{1, 1, 1, 1, 3}, {0, 1, 1, 2, 0, 0, 1, 2}}}) {
        for (const char* stream : {"", "pass_on"}) {
          Schedule schedule = placed(each.stages);
          if (*stream) schedule.decisions.push_back(StreamAssignment{stream, Stream::inter_node});
          if (each.layout.pipeline != 3 && each.stages[1] == 1) {
            schedule.decisions.push_back(OrderMicroBatches{MicroBatchOrder::interleaved_stages});
          }
          const Outcome other = train_small(model, schedule, each.layout, 3);
          for (std::size_t step = 0; step < 3; ++step) {
            EXPECT_NEAR(other.losses[step], one.losses[step], kDouble * one.losses[step]);
            EXPECT_NEAR(other.gradient_norms[step], one.gradient_norms[step],
                        10 * kDouble * one.gradient_norms[step]);
          }
          EXPECT_LT(largest_difference(other, one), 10 * kDouble) << to_json(schedule);
          EXPECT_LT(largest_state_difference(other, one), 1e-8) << to_json(schedule);
          EXPECT_EQ(other.planned_peaks, other.touched_peaks);
        }
      }
    }
  }
}

TEST(PlaceBlocks, AVHasTheHeadBesideTheEmbedding) {
  const std::vector<int> stages{0, 1, 2, 3, 3, 2, 1, 0};
  const Program equal = build_iteration(eight_blocks(), make_groups(Layout{1, 1, 1, 1, 4}), 0),
                v = apply(equal, placed(stages));
  EXPECT_EQ(to_text(apply(v, PlaceBlocks{stages_of_blocks(equal)})), to_text(equal));
  for (const Parameter& parameter : v.parameters) {
    EXPECT_EQ(parameter.stage,
              parameter.layer < 0 ? 0 : stages[static_cast<std::size_t>(parameter.layer)]);
  }
  const Program first = stage_program(v, 0).program, last = stage_program(v, 3).program;
  EXPECT_EQ(first.losses.size(), 4u);
  EXPECT_TRUE(last.losses.empty());
  EXPECT_GE(first.targets.front(), 0);
  EXPECT_LT(last.targets.front(), 0);
}

TEST(PlaceBlocks, AVChangesNeitherLossesNorGradientsNorWhatIsLearnt) {
  const Model model = eight_blocks();
  const Outcome one = train_small(model, {"sequential", {}}, 1, 5);
  const Schedule v2 = placed({0, 0, 1, 1, 1, 1, 0, 0});
  Schedule in_time = v2, sharded = v2;
  in_time.decisions.push_back(OrderMicroBatches{MicroBatchOrder::zero_bubble});
  in_time.decisions.push_back(StreamAssignment{"pass_on", Stream::inter_node});
  sharded.decisions.push_back(ShardOptimizer{});
  Schedule v4 = placed({0, 1, 2, 3, 3, 2, 1, 0});
  v4.decisions.push_back(OrderMicroBatches{MicroBatchOrder::zero_bubble, 3});
  const Layout two{1, 2, 1, 1, 2}, four{1, 1, 1, 1, 4};
  // With the head in the last stage before and after it.
  for (const auto& [layout, schedules] :
       {std::pair{two, Schedules{v2}}, std::pair{two, Schedules{in_time}},
        std::pair{four, Schedules{v4}},
        std::pair{two, Schedules{{"equal", {}}, in_time, sharded, {"equal", {}}}}}) {
    const Outcome other = train_in_turn(model, schedules, make_groups(layout), 5);
    for (std::size_t step = 0; step < 5; ++step) {
      EXPECT_NEAR(other.losses[step], one.losses[step], 1e-9 * one.losses[step]) << step;
    }
    EXPECT_NEAR(other.losses[0], one.losses[0], kDouble * one.losses[0]);
    EXPECT_LT(largest_state_difference(other, one), 1e-8) << to_json(schedules.front());
    if (schedules.size() > 1) continue;
    EXPECT_LT(largest_difference(other, one), 10 * kDouble) << to_json(schedules.front());
    EXPECT_EQ(other.planned_peaks, other.touched_peaks);
  }
}

TEST(PlaceBlocks, BlocksMoveBetweenStepsWithTheirStates) {
  const Model model = eight_blocks();
  const Outcome one = train_small(model, {"sequential", {}}, 1, 5);
  Schedule shared = placed({0, 0, 1, 0, 1, 1, 0, 1});
  shared.decisions.push_back(ShardOptimizer{});
  const Schedules in_turn{
      {"equal", {}}, placed({0, 1, 0, 1, 0, 1, 0, 1}), shared, placed({0, 1, 1, 1, 1, 1, 1, 1})};
  const Outcome other = train_in_turn(model, in_turn, make_groups(Layout{1, 2, 1, 1, 2}), 5);
  for (std::size_t step = 0; step < 5; ++step) {
    EXPECT_NEAR(other.losses[step], one.losses[step], 1e-9 * one.losses[step]) << step;
  }
  EXPECT_LT(largest_state_difference(other, one), 1e-8);
}

TEST(PlaceBlocks, RefusesWhatItCannotDo) {
  const auto refused = [](int pipeline, std::vector<int> stages,
                          Head head = Head::untied) -> std::string {
    Model model = eight_blocks();
    model.blocks = 4;
    model.head = head;
    const Program program = build_iteration(model, make_groups(Layout{1, 1, 1, 1, pipeline}), 0);
    try {
      apply(program, placed(std::move(stages)));
    } catch (const Refusal& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused(1, {0, 0, 0, 0}), HasSubstr("expected a layout with pp of at least 2"));
  EXPECT_THAT(refused(2, {0, 0, 1}), HasSubstr("3 stages for 4 blocks"));
  EXPECT_THAT(refused(2, {0, 0, 1, 2}),
              HasSubstr("block 3 in stage 2: expected stages from 0 to 1"));
  EXPECT_THAT(refused(2, {0, 0, 0, 0}), HasSubstr("stage 1 has no block"));
  EXPECT_THAT(refused(3, {0, 1, 2, 1}), HasSubstr("the last in stage 1"));
  EXPECT_THAT(refused(2, {0, 1, 1, 0}, Head::tied), HasSubstr("it is tied, and stays"));
  EXPECT_EQ(refused(2, {0, 1, 1, 0}), "");
  EXPECT_THAT(refused(4, {0, 2, 1, 3}), HasSubstr("stage 0 cannot pass rows on to stage 2"));
  EXPECT_EQ(refused(4, {0, 1, 2, 3}), "");
}

TEST(PlaceBlocks, ComesBackFromJson) {
  const Schedule schedule = placed({0, 1, 0, 1});
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  EXPECT_EQ(to_json(schedule.decisions.front()),
            R"({"decision":"place_blocks","stages":[0,1,0,1]})");
}

}  // namespace
}  // namespace moe::test::place_blocks_test
