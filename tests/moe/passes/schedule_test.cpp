#include "moe/passes/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/program/groups.h"
#include "tests/moe/train/training_case.h"

namespace moe {
namespace {

using testing::chunked;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Schedule kSchedule{
    "tutel",
    {StreamAssignment{"all_to_all", Stream::inter_node}, PipelineSplit{3, Phase::backward, 2},
     PipelineSplit{1, Phase::forward, 4}}};

Program iteration() {
  return build_iteration(testing::small_model(DType::f32), make_groups(4, 4), 0);
}

TEST(ScheduleJson, ComesBackInTheOrderInWhichItIsApplied) {
  const Schedule read = schedule_from_json(to_json(kSchedule));
  EXPECT_EQ(read,
            (Schedule{"tutel",
                      {PipelineSplit{1, Phase::forward, 4}, PipelineSplit{3, Phase::backward, 2},
                       StreamAssignment{"all_to_all", Stream::inter_node}}}));
  EXPECT_EQ(read, canonical(kSchedule));
}

TEST(ScheduleJson, OfEqualDecisionsIsEqualWhateverTheirOrderAndWhoeverMadeThem) {
  Schedule turned = kSchedule;
  std::swap(turned.decisions[0], turned.decisions[1]);
  EXPECT_EQ(to_json(turned), to_json(kSchedule));
  turned.planner = "another";
  EXPECT_NE(to_json(turned), to_json(kSchedule));
  EXPECT_EQ(decisions_json(turned), decisions_json(kSchedule));
}

TEST(ScheduleJson, SaysWhichKeyIsWrong) {
  const auto refused = [](const std::string& decision) {
    try {
      schedule_from_json(R"({"decisions": [)" + decision + "]}", "s.json");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto split = [&](const std::string& fields) {
    return refused(R"({"decision": "pipeline_split", "layer": 1, )" + fields + "}");
  };
  EXPECT_EQ(split(R"("phase": "forward", "chunks": 2)"), "accepted");
  for (const char* chunks : {"4294967298", "2.9", "true", "\"2\"", "0", "-1", "1e3"})
    EXPECT_THAT(split(std::string(R"("phase": "forward", "chunks": )") + chunks),
                HasSubstr("chunks"))
        << chunks;
  EXPECT_THAT(split(R"("chunks": 2)"), HasSubstr("phase"));
  EXPECT_THAT(split(R"("phase": "update", "chunks": 2)"), HasSubstr("update"));
  EXPECT_THAT(split(R"("phase": "forward", "chunks": 2, "chunks": 3)"), HasSubstr("chunks"));
  EXPECT_THAT(split(R"("phase": "forward", "chunks": 2, "chunk": 3)"), HasSubstr("chunk"));
  EXPECT_THAT(refused(R"({"decision": "pipeline"})"), HasSubstr("pipeline_split"));
  EXPECT_THAT(refused(R"({"decision": "assign_stream", "kind": "all_to_all", "stream": "wifi"})"),
              HasSubstr("wifi"));
  EXPECT_THAT([] { schedule_from_json("{", "s.json"); },
              ThrowsMessage<InputError>(HasSubstr("s.json:1")));
  EXPECT_THAT([] { schedule_from_json("{}"); }, ThrowsMessage<InputError>(HasSubstr("decisions")));
}

TEST(Apply, ShowsTheProgramAfterEveryDecision) {
  std::vector<std::string> seen;
  const Schedule schedule = chunked(testing::small_model(DType::f32), 2, 3);
  apply(iteration(), schedule, [&](const Decision& decision, const Program& program) {
    seen.push_back(to_json(decision) + " " + std::to_string(program.ops.size()));
  });
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_THAT(seen[0], HasSubstr(R"("chunks":2)"));
  EXPECT_THAT(seen[1], HasSubstr(R"("chunks":3)"));
  EXPECT_THAT(seen[2], HasSubstr(R"("assign_stream")"));
  EXPECT_NE(seen[0].substr(seen[0].rfind(' ')), seen[1].substr(seen[1].rfind(' ')));
}

TEST(Apply, OfTheEmptyScheduleIsTheProgramItself) {
  EXPECT_EQ(to_text(apply(iteration(), Schedule{})), to_text(iteration()));
}

TEST(Apply, RefusesChunksWhereThereAreNoExperts) {
  EXPECT_THAT(
      [] {
        apply(iteration(), {"", {PipelineSplit{0, Phase::forward, 2}}});
      },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("pipeline_split: 2 chunks (layer 0, forward): no experts there")));
}

TEST(Apply, RefusesNoChunksAndSplittingTwice) {
  EXPECT_THROW(apply(iteration(), {"", {PipelineSplit{1, Phase::forward, 0}}}),
               std::invalid_argument);
  EXPECT_THAT(
      [] {
        apply(iteration(),
              {"", {PipelineSplit{1, Phase::forward, 2}, PipelineSplit{1, Phase::forward, 2}}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("split already")));
}

TEST(Apply, RefusesMoreChunksThanRowsAndThanMakeSense) {
  // 4 ranks: 7 sequences of 8 tokens, two copies each.
  EXPECT_NO_THROW(apply(iteration(), {"", {PipelineSplit{1, Phase::forward, 112}}}));
  EXPECT_THAT(
      [] {
        apply(iteration(), {"", {PipelineSplit{1, Phase::backward, 113}}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("a rank sends at most 112 rows")));
  Model large = testing::small_model(DType::f32);
  large.global_batch = 28 * 30;
  EXPECT_THAT(
      [&] {
        apply(build_iteration(large, make_groups(1, 1), 0),
              {"", {PipelineSplit{1, Phase::forward, 1'000'000}}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("at most 1024 chunks")));
}

TEST(Apply, RefusesStreamsThatAnOpCannotLeaveOrEnter) {
  const auto assign = [](std::string kind, Stream stream) {
    return [=] { apply(iteration(), {"", {StreamAssignment{kind, stream}}}); };
  };
  EXPECT_THAT(assign("all_to_some", Stream::inter_node),
              ThrowsMessage<std::invalid_argument>(HasSubstr("no op is called that")));
  EXPECT_THAT(
      assign("linear", Stream::inter_node),
      ThrowsMessage<std::invalid_argument>(HasSubstr("linear on inter_node: only communication")));
  EXPECT_THAT(assign("exchange_counts", Stream::inter_node),
              ThrowsMessage<std::invalid_argument>(HasSubstr("the host reads what it exchanges")));
  EXPECT_THROW(assign("all_to_all", Stream::copy)(), std::invalid_argument);
}

TEST(Apply, RefusesToMoveAnOpTwice) {
  for (const Stream second : {Stream::inter_node, Stream::intra_node}) {
    EXPECT_THAT(
        [&] {
          apply(iteration(), {"",
                              {StreamAssignment{"all_to_all", Stream::inter_node},
                               StreamAssignment{"all_to_all", second}}});
        },
        ThrowsMessage<std::invalid_argument>(HasSubstr("it is on inter_node already")));
  }
}

TEST(Apply, RefusalsOfAFileNameIt) {
  const Schedule schedule{"", {PipelineSplit{0, Phase::forward, 2}}};
  EXPECT_THAT([&] { check_applies(iteration(), schedule, "s.json"); },
              ThrowsMessage<InputError>(
                  "s.json: pipeline_split: 2 chunks (layer 0, forward): no experts there"));
  EXPECT_NO_THROW(check_applies(iteration(), kSchedule, "s.json"));
}

TEST(PipelineSplit, IssuesAllDispatchesThenEachChunksExpertsAndReturn) {
  const Program program = apply(iteration(), {"", {PipelineSplit{1, Phase::forward, 2}}});
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
  const Program program = apply(iteration(), {"", {PipelineSplit{1, Phase::backward, 3}}});
  std::vector<bool> accumulate;
  for (const Op& op : program.ops)
    if (const auto* gradient = std::get_if<ExpertLinearWeightGradient>(&op.kind)) {
      accumulate.push_back(gradient->accumulate);
      EXPECT_EQ(op.reads.size(), gradient->accumulate ? 4u : 2u);  // it reads what it changes
    }
  EXPECT_EQ(accumulate, (std::vector<bool>{false, false, true, true, true, true}));
}

TEST(PipelineSplit, PiecesOfAWeightGradientCannotChangePlaces) {
  Program program = apply(iteration(), {"", {PipelineSplit{1, Phase::backward, 2}}});
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    if (program.ops[i].name == "experts down dW") places.push_back(i);
  ASSERT_EQ(places.size(), 2u);
  const auto waits = dependencies(program)[places[1]];
  EXPECT_TRUE(std::binary_search(waits.begin(), waits.end(), static_cast<int>(places[0])));
  std::swap(program.ops[places[0]], program.ops[places[1]]);
  EXPECT_THAT([&] { validate(program); },
              ThrowsMessage<std::logic_error>(HasSubstr("before it is written")));
}

}  // namespace
}  // namespace moe
