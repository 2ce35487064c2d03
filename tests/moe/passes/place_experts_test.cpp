#include "moe/passes/place_experts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/work.h"
#include "tests/moe/rows/random_placement.h"
#include "tests/moe/train/training_case.h"

namespace moe::place_experts_test {
namespace {

using test::chunked;
using test::chunked_by_routes;
using test::largest_difference;
using test::Outcome;
using test::random_homes;
using test::random_placement;
using test::small_model;
using test::train_small;
using test::with_streams_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kExperts = 28;  // of the small model's layer

ExpertHomes some_homes(int members) {
  std::mt19937 random(static_cast<unsigned>(members));
  return random_homes(random, kExperts, members);
}

Schedule placed(int members) { return {"placed", {PlaceExperts{1, some_homes(members)}}}; }

void expect_the_same_bits(const Outcome& outcome, const Outcome& reference,
                          const std::string& what) {
  EXPECT_EQ(outcome.losses, reference.losses) << what;
  EXPECT_TRUE(outcome.gradients == reference.gradients) << what;
  EXPECT_TRUE(outcome.state == reference.state) << what;
  EXPECT_EQ(outcome.dropped, reference.dropped) << what;
}

TEST(PlaceExperts, ChangesNoBitOfLossesGradientsAndWhatIsLearnt) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = small_model(dtype);
    for (const int ranks : {2, 4, 7}) {
      expect_the_same_bits(train_small(model, placed(ranks), ranks, 3),
                           train_small(model, {"sequential", {}}, ranks, 3),
                           fmt::format("{} ranks", ranks));
    }
  }
}

TEST(PlaceExperts, GoesWithEveryLayoutMicroBatchesAndNetworks) {
  for (const Layout& layout : {Layout{2, 2, 1}, Layout{1, 2, 2}, Layout{1, 2, 1, 2},
                               Layout{1, 2, 1, 1, 2}, Layout{2, 2, 2}}) {
    for (const char* expert : {"gpt", "mixtral"}) {
      Model model = small_model(DType::f32);
      model.expert = expert;
      model.global_batch = model.capacity_groups = 48;
      model.micro_batches = 3;
      const Groups groups = make_groups(layout);
      expect_the_same_bits(train_small(model, placed(2), groups, 2),
                           train_small(model, {"sequential", {}}, groups, 2), to_text(layout));
    }
  }
}

TEST(PlaceExperts, GoesWithReplicasChunksPartsRoutesAndBuffers) {
  Model model = small_model(DType::f64);
  model.drop = Drop::position;
  const Groups groups = make_groups(4, 4, {0, 0, 1, 1});
  const Outcome reference = train_small(model, {"sequential", {}}, 1, 2);
  std::vector<Schedule> schedules = chunked_by_routes(model);
  schedules.push_back({"parts", {PartitionRange{1, 7, 8, 1}}});
  schedules.push_back(chunked(model, 2, 2));
  schedules.back().decisions.push_back(
      RestoreActivation{1, RestoreDispatched::communicate, RestoreHidden::recompute});
  std::mt19937 random(3);
  for (const bool replicated : {false, true}) {
    for (Schedule schedule : schedules) {
      schedule.decisions.push_back(PlaceExperts{1, some_homes(4)});
      if (replicated) {
        schedule.decisions.push_back(
            ReplicateExperts{1, random_placement(random, kExperts, 4, some_homes(4))});
      }
      schedule = with_streams_of(build_iteration(model, groups, 0), std::move(schedule));
      const Outcome outcome = train_small(model, schedule, groups, 2);
      EXPECT_NEAR(outcome.losses[1], reference.losses[1], 1e-12) << to_json(schedule);
      EXPECT_LT(largest_difference(outcome, reference), 1e-12) << to_json(schedule);
    }
  }
}

TEST(PlaceExperts, SaysWhichExpertsARankHasAndLeavesOpsAndSizesAsTheyAre) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1;
  const Groups groups = make_groups(Layout{2, 2, 1});
  ExpertHomes homes(kExperts, 1);
  for (int expert = 0; expert < kExperts; expert += 2) homes[expert] = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const Program whole = build_iteration(model, groups, rank);
    const Program program = apply(whole, PlaceExperts{1, homes});
    EXPECT_EQ(program.ops.size(), whole.ops.size());
    ASSERT_EQ(program.tensors.size(), whole.tensors.size());
    for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
      EXPECT_EQ(program.tensors[i].rows, whole.tensors[i].rows) << whole.tensors[i].name;
    }
    int of_experts = 0;
    for (const Parameter& parameter : program.parameters) {
      if (!belongs_to_experts(parameter)) {
        EXPECT_TRUE(parameter.shard.blocks.empty());
        continue;
      }
      ++of_experts;
      const int first = rank % 2;  // of experts 0 2 4 ..., or 1 3 5 ...
      ASSERT_EQ(parameter.shard.blocks.size(), 14u);
      EXPECT_EQ(parameter.shard.blocks.front(), first);
      EXPECT_EQ(parameter.shard.blocks.back(), 26 + first);
    }
    EXPECT_EQ(of_experts, 4) << "two matrices, two biases";
    EXPECT_THAT(to_text(program), HasSubstr("layer 1: experts belong to ranks 0 1 0 1"));
    // And back in order: as it was.
    const Program back = apply(program, PlaceExperts{1, homes_in_order(kExperts, 2)});
    EXPECT_TRUE(back.homes.empty());
    EXPECT_EQ(to_text(back), to_text(whole));
    for (const Parameter& parameter : back.parameters) EXPECT_TRUE(parameter.shard.blocks.empty());
  }
}

TEST(PlaceExperts, IsWhereReplicasAreSentFrom) {
  const Groups groups = make_groups(4, 4);
  Program program = build_iteration(small_model(DType::f32), groups, 0);
  ExpertHomes homes = homes_in_order(kExperts, 4);
  std::swap(homes[0], homes[27]);  // 0 with rank 3, 27 with rank 0
  program = apply(apply(std::move(program), PlaceExperts{1, homes}),
                  ReplicateExperts{1, {{{0, {0, 1}}, {27, {3}}}}});
  const std::int64_t expert = 4 * (2 * 16 * 24 + 16 + 24);
  for (const Op& op : program.ops) {
    if (kind_name(op) != "send_experts") continue;
    EXPECT_THAT(bytes_to_peers(program, op, {}, groups, 3), ElementsAre(expert, expert, 0, 0));
    EXPECT_THAT(bytes_to_peers(program, op, {}, groups, 0), ElementsAre(0, 0, 0, expert));
  }
}

TEST(PlaceExperts, RefusesWhatItCannotDo) {
  const Program program = build_iteration(small_model(DType::f32), make_groups(4, 4), 0);
  const auto refused = [](const Program& whole, const PlaceExperts& placing, const char* why) {
    EXPECT_THAT([&] { apply(whole, placing); }, ThrowsMessage<Refusal>(HasSubstr(why)));
  };
  const ExpertHomes in_order = homes_in_order(kExperts, 4);
  refused(program, {0, in_order}, "place_experts: layer 0: no experts there");
  refused(program, {9, in_order}, "place_experts: layer 9: no experts there");
  refused(program, {1, {}}, "layer 1: no homes: expected one for each of 28 experts");
  refused(program, {1, {0, 1, 2}},
          "layer 1: homes: 3 entries: expected one for each of 28 experts");
  ExpertHomes wrong = in_order;
  wrong[5] = 4;
  refused(program, {1, wrong},
          "expert 5 at home on rank 4: expected one of the expert group, from 0 to 3");
  wrong[5] = -1;
  refused(program, {1, wrong}, "expert 5 at home on rank -1");
  wrong[5] = 2;
  refused(program, {1, wrong}, "rank 0 is the home of 6 experts: expected 7 on each");
  refused(build_iteration(small_model(DType::f32), make_groups(4, 1), 0), {1, in_order},
          "every rank has all experts: expected a layout with ep of at least 2");
  refused(apply(program, ReplicateExperts{1, {{{3, {1}}}}}), {1, in_order},
          "its experts are replicated already: expected homes before replicas");
  // Replicas must not have homes of their own, and must not be at the home of their expert.
  EXPECT_THAT(
      [&] {
        apply(program, ReplicateExperts{1, {{{3, {1}}}, RowsOfOthers::home, in_order}});
      },
      ThrowsMessage<Refusal>(HasSubstr("place_experts says them")));
  ExpertHomes moved = in_order;
  std::swap(moved[3], moved[7]);
  EXPECT_THAT(
      [&] {
        apply(apply(program, PlaceExperts{1, moved}), ReplicateExperts{1, {{{3, {1}}}}});
      },
      ThrowsMessage<Refusal>(HasSubstr("rank 1 is its home")));
  EXPECT_THAT(
      [&] {
        apply(program, Schedule{"", {PlaceExperts{1, in_order}, PlaceExperts{1, moved}}});
      },
      ThrowsMessage<Refusal>(HasSubstr("decided already")));
}

TEST(PlaceExperts, ComesBackFromJson) {
  EXPECT_EQ(schedule_from_json(to_json(placed(4))).decisions, placed(4).decisions);
  EXPECT_EQ(to_json(Decision{PlaceExperts{1, {1, 0, 0, 1}}}),
            R"({"decision":"place_experts","homes":[1,0,0,1],"layer":1})");
  EXPECT_EQ(changes_results(placed(4)), "");
  for (const char* wrong :
       {R"({"decisions": [{"decision": "place_experts", "layer": 1}]})",
        R"({"decisions": [{"decision": "place_experts", "layer": 1, "homes": [0, -1]}]})",
        R"({"decisions": [{"decision": "place_experts", "layer": 1, "homes": 3}]})"}) {
    EXPECT_THROW(schedule_from_json(wrong), std::exception) << wrong;
  }
}

}  // namespace
}  // namespace moe::place_experts_test
