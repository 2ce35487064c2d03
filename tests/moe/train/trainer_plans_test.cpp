// Schedules that change between the iterations of a training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "moe/train/turns.h"
#include "tests/moe/train/told_training.h"

namespace moe::trainer_plans_test {
namespace {

using test::chunked;
using test::small_model;
using test::steps;
using test::Told;
using test::trained;
using ::testing::ElementsAre;

TEST(TrainerPlans, ANewScheduleIsInForceFromTheNextIterationOnAndChangesNoLoss) {
  const Model model = small_model(DType::f64);
  const Schedule sequential{"sequential", {}}, cut = chunked(model, 2, 2);
  const Told plain = trained(model, 2, steps(4), sequential);
  TrainOptions options = steps(4);
  std::vector<int> asked;
  options.replan = [&](const SeenIteration& seen) -> std::optional<Schedule> {
    asked.push_back(seen.iteration);
    EXPECT_EQ(seen.routing.layers.at(0).tokens.size(), 2u);
    EXPECT_GT(seen.duration_s, 0);
    EXPECT_EQ(seen.in_force.planner, seen.iteration > 2 ? "chunked" : "sequential");
    if (seen.iteration == 2) return cut;
    return std::nullopt;
  };
  const Told told = trained(model, 2, options, sequential);
  EXPECT_THAT(asked, ElementsAre(1, 2, 3)) << "there is nothing to plan after the last";
  ASSERT_EQ(told.schedules.size(), 2u);
  EXPECT_EQ(told.schedules[0], std::pair(1, sequential));
  EXPECT_EQ(told.schedules[1], std::pair(3, canonical(cut)));
  const auto spans = [&](int step) { return told.steps.at(step).timeline.ranks.at(1).size(); };
  EXPECT_EQ(spans(0), spans(1));
  EXPECT_GT(spans(2), spans(1));
  EXPECT_EQ(spans(3), spans(2));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(told.losses()[i], plain.losses()[i], 1e-12);
}

TEST(TrainerPlans, SchedulesThatTakeTurnsChangeNoLossAndEachWarmsUp) {
  const Model model = small_model(DType::f64);
  const std::vector<Schedule> both{{"sequential", {}}, canonical(chunked(model, 2, 2))};
  const int iterations = 2 * (kWarmupIterations + 1);
  const Told plain = trained(model, 2, steps(iterations), both[0]);
  TrainOptions options = steps(iterations);
  options.replan = in_turns(both);
  options.turns = both;
  const Told told = trained(model, 2, options, both[0]);
  ASSERT_EQ(told.schedules.size(), static_cast<std::size_t>(iterations));
  for (std::size_t i = 0; i < told.steps.size(); ++i) {
    EXPECT_EQ(told.schedules[i], std::pair(static_cast<int>(i) + 1, both[i % 2]));
    EXPECT_NEAR(told.losses()[i], plain.losses()[i], 1e-12);
    const bool warms_up = told.steps[i].touched_peak_bytes.front() > 0;
    EXPECT_EQ(warms_up, i < 2 * std::size_t{kWarmupIterations}) << i;
  }
}

TEST(TrainerPlans, PlansBesideAnIterationRuleTheOneAfterItAndChangeNoLoss) {
  const Model model = small_model(DType::f64);
  const Schedule sequential{"sequential", {}}, cut = chunked(model, 2, 2);
  const Told plain = trained(model, 2, steps(5), sequential);
  TrainOptions options = steps(5);
  options.planning = PlanningTurn::beside;
  std::vector<int> asked;
  options.replan = [&](const SeenIteration& seen) -> std::optional<Schedule> {
    asked.push_back(seen.iteration);
    if (seen.iteration == 2) return cut;
    return std::nullopt;
  };
  const Told told = trained(model, 2, options, sequential);
  EXPECT_THAT(asked, ElementsAre(1, 2, 3))
      << "a plan from iteration 4 would rule the sixth of five";
  ASSERT_EQ(told.schedules.size(), 2u);
  EXPECT_EQ(told.schedules[1], std::pair(4, canonical(cut)));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(told.losses()[i], plain.losses()[i], 1e-12);

  options.replan = [&](const SeenIteration& seen) -> std::optional<Schedule> {
    if (seen.iteration == 3) throw std::runtime_error("no plan");
    return std::nullopt;
  };
  EXPECT_THROW(trained(model, 1, options, sequential), std::runtime_error);
}

TEST(TrainerPlans, ExpertsGoToOtherRanksAndBackBetweenIterationsAndChangeNoLoss) {
  const Model model = small_model(DType::f64);
  const Schedule sequential{"sequential", {}};
  const Told plain = trained(model, 4, steps(6), sequential);
  TrainOptions options = steps(6);
  options.evaluate_every = 2;
  options.evaluate_batches = 1;
  options.replan = [&](const SeenIteration& seen) -> std::optional<Schedule> {
    switch (seen.iteration) {
      case 1:
        return Schedule{"few", {ReplicateExperts{1, {{{5, {3}}}}}}};
      case 2:
        return Schedule{
            "many",
            {ReplicateExperts{1, {{{0, {1, 2, 3}}, {5, {1}}, {27, {0}}}, RowsOfOthers::spread}}}};
      case 4:
        return sequential;
      default:
        return std::nullopt;
    }
  };
  const Told told = trained(model, 4, options, sequential);
  ASSERT_EQ(told.schedules.size(), 4u);
  ASSERT_EQ(told.losses().size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(told.losses()[i], plain.losses()[i], 1e-12) << i;
  EXPECT_GT(told.steps[2].planned_peak_bytes[0], plain.steps[2].planned_peak_bytes[0]);
  EXPECT_EQ(told.steps[5].planned_peak_bytes, plain.steps[5].planned_peak_bytes);
}

/// Every expert of the small model's layer at home on the rank after its own.
Schedule one_further(int members) {
  ExpertHomes homes = homes_in_order(28, members);
  for (int& home : homes) home = (home + 1) % members;
  return {"one further", {PlaceExperts{1, homes}}};
}

TEST(TrainerPlans, HomesThatChangeBetweenIterationsTakeTheirStateAlongAndChangeNoBit) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::sgd}) {
    Model model = small_model(DType::f32);
    model.optimizer = optimizer;
    if (optimizer == Optimizer::sgd) model.momentum = 0.9;
    model.learning_rate = 0.01;
    TrainOptions options = steps(7);
    options.evaluate_every = options.evaluate_batches = 1;
    const Told plain = trained(model, 4, options);
    options.replan = [&](const SeenIteration& seen) -> std::optional<Schedule> {
      switch (seen.iteration) {
        case 2:
          return one_further(4);
        case 4: {
          // As they are, with experts 0 and 1 at home on rank 1 now.
          Schedule more = seen.in_force;
          more.decisions.push_back(ReplicateExperts{1, {{{0, {0, 3}}, {1, {2}}}}});
          return more;
        }
        case 5:
          return Schedule{"in order", {}};
        default:
          return std::nullopt;
      }
    };
    const Told told = trained(model, 4, options, one_further(4));
    ASSERT_EQ(told.schedules.size(), 4u);
    ASSERT_EQ(told.losses().size(), 7u);
    for (std::size_t i = 0; i < 7; ++i) {
      // Rows and gradients of replicas are multiplied and added up in other groups.
      const double rounding = i < 4 ? 0 : 1e-5;
      EXPECT_NEAR(told.losses()[i], plain.losses()[i], rounding) << i;
      EXPECT_NEAR(told.steps[i].heldout_loss.value(), plain.steps[i].heldout_loss.value(), rounding)
          << i;
    }
    EXPECT_LT(plain.losses().back(), plain.losses().front() - 0.02) << "it should learn";
    ASSERT_EQ(told.moved.size(), 1u) << "the second plan is the first, the third is at home there";
    EXPECT_EQ(told.moved[0].first, 6);
    EXPECT_EQ(told.moved[0].second.experts, 28);
    const std::int64_t states = optimizer == Optimizer::adam ? 3 : 2;
    EXPECT_EQ(told.moved[0].second.bytes, 28 * states * 4 * (2 * 16 * 24 + 16 + 24));
  }
}

}  // namespace
}  // namespace moe::trainer_plans_test
