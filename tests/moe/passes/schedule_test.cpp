#include "moe/passes/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/program/groups.h"
#include "tests/moe/train/training_case.h"

namespace moe {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Schedule kSchedule{"tutel",
                         {{3, Phase::backward, 2}, {1, Phase::forward, 4}},
                         {{"all_to_all", Stream::inter_node}}};

Program iteration() {
  return build_iteration(testing::small_model(DType::f32), make_groups(4, 4), 0);
}

TEST(ScheduleJson, ComesBackAsItWas) {
  const Schedule read = schedule_from_json(to_json(kSchedule));
  EXPECT_EQ(to_json(read), to_json(kSchedule));
  EXPECT_EQ(read.planner, "tutel");
  EXPECT_EQ(read.streams, kSchedule.streams);
}

TEST(ScheduleJson, OfEqualDecisionsIsEqualWhateverTheirOrder) {
  Schedule turned = kSchedule;
  std::swap(turned.pipelines[0], turned.pipelines[1]);
  EXPECT_EQ(to_json(turned), to_json(kSchedule));
}

TEST(ScheduleJson, SaysWhichKeyIsWrong) {
  const auto read = [](std::string text) { return [text] { schedule_from_json(text); }; };
  EXPECT_THAT(read("{"), ThrowsMessage<InputError>(HasSubstr("not JSON")));
  EXPECT_THAT(read(R"({"pipeline": []})"),
              ThrowsMessage<InputError>(
                  HasSubstr(R"(unknown key "pipeline"; known are planner, pipelines)")));
  EXPECT_THAT(read(R"({"pipelines": [{"layer": 1, "chunks": 2}]})"),
              ThrowsMessage<InputError>(HasSubstr(R"("phase" is missing)")));
  EXPECT_THAT(read(R"({"pipelines": [{"layer": "x", "phase": "forward", "chunks": 2}]})"),
              ThrowsMessage<InputError>(HasSubstr(R"("layer": expected a number, got "x")")));
  EXPECT_THAT(read(R"({"streams": [{"kind": "all_to_all", "stream": "wifi"}]})"),
              ThrowsMessage<InputError>(HasSubstr(R"(got "wifi")")));
}

TEST(Apply, OfTheEmptyScheduleIsTheProgramItself) {
  EXPECT_EQ(to_text(apply(iteration(), {})), to_text(iteration()));
}

TEST(Apply, RefusesChunksWhereThereAreNoExperts) {
  EXPECT_THAT(
      [] {
        apply(iteration(), {"", {{0, Phase::forward, 2}}, {}});
      },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("pipeline_split: 2 chunks, layer 0 forward: no experts there")));
}

TEST(Apply, RefusesNoChunksAndSplittingTwice) {
  EXPECT_THROW(apply(iteration(), {"", {{1, Phase::forward, 0}}, {}}), std::invalid_argument);
  EXPECT_THAT(
      [] {
        apply(iteration(), {"", {{1, Phase::forward, 2}, {1, Phase::forward, 2}}, {}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("split already")));
}

TEST(Apply, RefusesStreamsThatAnOpCannotLeaveOrEnter) {
  const auto assign = [](std::string kind, Stream stream) {
    return [=] { apply(iteration(), {"", {}, {{kind, stream}}}); };
  };
  EXPECT_THAT(assign("all_to_some", Stream::inter_node),
              ThrowsMessage<std::invalid_argument>(HasSubstr("no op is called that")));
  EXPECT_THAT(
      assign("linear", Stream::inter_node),
      ThrowsMessage<std::invalid_argument>(HasSubstr("linear on inter_node: only communication")));
  EXPECT_THAT(assign("exchange_counts", Stream::inter_node),
              ThrowsMessage<std::invalid_argument>(HasSubstr("the host reads the counts")));
  EXPECT_THROW(assign("all_to_all", Stream::copy)(), std::invalid_argument);
}

TEST(PipelineSplit, IssuesAllDispatchesThenEachChunksExpertsAndReturn) {
  const Program program = apply(iteration(), {"", {{1, Phase::forward, 2}}, {}});
  std::string order;
  for (const Op& op : program.ops)
    if (op.phase == Phase::forward && op.chunk.count == 2)
      order += std::string(kind_name(op)) + std::to_string(op.chunk.index) + " ";
  EXPECT_EQ(order,
            "permute0 all_to_all0 permute1 all_to_all1 "
            "expert_linear0 gelu0 expert_linear0 all_to_all0 "
            "expert_linear1 gelu1 expert_linear1 all_to_all1 ");
}

TEST(PipelineSplit, AddsUpTheWeightGradientsOfAllButTheFirstChunk) {
  const Program program = apply(iteration(), {"", {{1, Phase::backward, 3}}, {}});
  std::vector<bool> accumulate;
  for (const Op& op : program.ops)
    if (const auto* gradient = std::get_if<ExpertLinearWeightGradient>(&op.kind))
      accumulate.push_back(gradient->accumulate);
  EXPECT_EQ(accumulate, (std::vector<bool>{false, false, true, true, true, true}));
}

}  // namespace
}  // namespace moe
