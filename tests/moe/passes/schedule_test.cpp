#include "moe/passes/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/rows/groups.h"
#include "tests/moe/train/training_case.h"

namespace moe::schedule_test {
namespace {

using test::chunked;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Schedule kSchedule{
    "tutel",
    {StreamAssignment{"all_to_all", Stream::inter_node}, PipelineSplit{3, Phase::backward, 2},
     PipelineSplit{1, Phase::forward, 4}}};

Program iteration() { return build_iteration(test::small_model(DType::f32), make_groups(4, 4), 0); }

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

TEST(ScheduleJson, OfNoPlannerComesBack) {
  const Schedule nameless{"", kSchedule.decisions};
  EXPECT_EQ(schedule_from_json(to_json(nameless)), canonical(nameless));
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
  for (const char* chunks : {"4294967298", "2.9", "true", "\"2\"", "0", "-1", "1e3"}) {
    EXPECT_THAT(split(std::string(R"("phase": "forward", "chunks": )") + chunks),
                HasSubstr("chunks"))
        << chunks;
  }
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
  const Schedule schedule = chunked(test::small_model(DType::f32), 2, 3);
  apply(iteration(), schedule, [&](const Decision& decision, const Program& program) {
    seen.push_back(to_json(decision) + " " + std::to_string(program.ops.size()));
  });
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_THAT(seen[0], HasSubstr(R"("chunks":2)"));
  EXPECT_THAT(seen[1], HasSubstr(R"("chunks":3)"));
  EXPECT_THAT(seen[2], HasSubstr(R"("assign_stream")"));
  EXPECT_NE(seen[0].substr(seen[0].rfind(' ')), seen[1].substr(seen[1].rfind(' ')));
}

TEST(Apply, OfAllDecisionsOfAKindAtOnceIsWhatOneByOneMakes) {
  Model model = test::all_moe_model(DType::f32, 2);
  model.micro_batches = 7;
  const Program program = build_iteration(model, make_groups(4, 4), 0);
  const Schedule cut = chunked(model, 2, 2);
  const auto with = [&](std::vector<Decision> more) {
    Schedule schedule = cut;
    append(schedule, std::move(more));
    return schedule;
  };
  std::vector<Schedule> schedules{cut, chunked(model, 2, 3),
                                  with({SliceAllReduce{0, 2, {}}, SliceAllReduce{1, 3, {}},
                                        PlaceAllReduce{1, 0, ExchangePlace::block, 1},
                                        PlaceAllReduce{1, 2, ExchangePlace::dispatch, 0}})};
  for (const RestoreDense dense : {RestoreDense::recompute, RestoreDense::offload}) {
    schedules.push_back(with({RestoreBlock{0, dense}, RestoreBlock{1, dense}}));
  }
  const auto whole = [](int block) {
    return RestoreBlock{block, RestoreDense::recompute, RestoreCommunication::repeat};
  };
  schedules.push_back(with({whole(0), whole(1)}));
  for (const RestoreHidden hidden : {RestoreHidden::offload, RestoreHidden::recompute}) {
    schedules.push_back(with({RestoreActivation{0, RestoreDispatched::offload, hidden},
                              RestoreActivation{1, RestoreDispatched::communicate, hidden}}));
  }
  for (const Schedule& schedule : schedules) {
    const auto one_by_one = [](const Decision&, const Program&) {};
    EXPECT_EQ(to_text(apply(program, schedule)), to_text(apply(program, schedule, one_by_one)))
        << to_json(schedule);
  }
}

TEST(Apply, OfTheEmptyScheduleIsTheProgramItself) {
  EXPECT_EQ(to_text(apply(iteration(), Schedule{})), to_text(iteration()));
}

TEST(Apply, RefusesTwoDecisionsOnOneSubject) {
  const std::vector<std::pair<Decision, Decision>> pairs{
      {PipelineSplit{1, Phase::forward, 1}, PipelineSplit{1, Phase::forward, 3}},
      {SliceAllReduce{1, 1}, SliceAllReduce{1, 3}},
      {StreamAssignment{"all_to_all", Stream::compute},
       StreamAssignment{"all_to_all", Stream::intra_node}}};
  for (const auto& pair : pairs) {
    const Schedule both{"", {pair.first, pair.second}};
    const std::string said = to_json(pair.second) + ": decided already, as " + to_json(pair.first);
    EXPECT_THAT([&] { apply(iteration(), both); }, ThrowsMessage<Refusal>(HasSubstr(said)));
  }
}

TEST(Apply, RefusesToMoveAnOpTwice) {
  for (const Stream second : {Stream::inter_node, Stream::intra_node}) {
    EXPECT_THAT(
        [&] {
          apply(iteration(), {"",
                              {StreamAssignment{"all_to_all", Stream::inter_node},
                               StreamAssignment{"all_to_all", second}}});
        },
        ThrowsMessage<Refusal>(HasSubstr("decided already, as")));
    EXPECT_THAT(
        [&] {
          apply(apply(iteration(), StreamAssignment{"all_to_all", Stream::inter_node}),
                StreamAssignment{"all_to_all", second});
        },
        ThrowsMessage<Refusal>(HasSubstr("it is on inter_node already")));
  }
}

TEST(Apply, RefusalsOfAFileNameIt) {
  const Schedule schedule{"", {PipelineSplit{0, Phase::forward, 2}}};
  EXPECT_THAT([&] { check_applies(iteration(), schedule, "s.json"); },
              ThrowsMessage<Refusal>(
                  "s.json: pipeline_split: 2 chunks (layer 0, forward): no experts there: "
                  "expected layer 1"));
  EXPECT_NO_THROW(
      check_applies(iteration(), chunked(test::small_model(DType::f32), 2, 3), "s.json"));
}

}  // namespace
}  // namespace moe::schedule_test
