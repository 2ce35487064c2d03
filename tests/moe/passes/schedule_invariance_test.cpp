// The heart of the project: whatever the schedule and however many ranks, training computes the
// same.
#include <gtest/gtest.h>

#include <random>

#include "tests/moe/train/training_case.h"

namespace moe::testing {
namespace {

constexpr int kRanks[] = {1, 2, 4, 7};
/// What rounding explains when sums are taken in another order.
constexpr double kDouble = 1e-12;
constexpr double kFloat = 1e-5;

const Schedule kSequential{"sequential", {}, {}};

double tolerance(DType dtype) { return dtype == DType::f64 ? kDouble : kFloat; }

std::string describe(const Model& m, const Schedule& schedule, int ranks) {
  return to_json(m) + "\n" + to_json(schedule) + "\nranks " + std::to_string(ranks);
}

Model random_model(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<int> values) {
    return values.begin()[random() % values.size()];
  };
  Model model = small_model(pick({0, 1}) ? DType::f64 : DType::f32);
  model.sequence_length = pick({4, 6, 9});
  model.heads = pick({1, 2, 4});
  model.d_model = 8 * pick({1, 2, 3});
  model.d_hidden = pick({8, 20, 33});
  model.blocks = pick({1, 2, 3});
  model.moe_every = pick({1, 2});
  if (model.blocks < model.moe_every) model.moe_every = 1;
  model.choices = pick({1, 2});
  model.capacity_factor = pick({0, 1}) ? std::optional<double>(pick({1, 2}) * 0.75) : std::nullopt;
  model.optimizer = pick({0, 1}) ? Optimizer::adam : Optimizer::sgd;
  model.seed = static_cast<std::int64_t>(random() % 1000);
  return model;
}

Schedule random_schedule(std::mt19937& random, const Model& model) {
  Schedule schedule{"random", {}, {}};
  for (int block = 0; block < model.blocks; ++block)
    if ((block + 1) % model.moe_every == 0)
      for (const Phase phase : {Phase::forward, Phase::backward})
        if (random() % 4 != 0)
          schedule.pipelines.push_back({block, phase, 1 + static_cast<int>(random() % 5)});
  for (const char* kind : {"all_to_all", "all_reduce"})
    if (random() % 3 != 0)
      schedule.streams.push_back({kind, random() % 2 ? Stream::inter_node : Stream::intra_node});
  return schedule;
}

TEST(ScheduleInvariance, RandomSchedulesOfRandomModelsOnAnyRanksGiveTheSequentialLossAndGradients) {
  std::mt19937 random(20240601);
  for (int i = 0; i < 12; ++i) {
    const Model model = random_model(random);
    const Outcome reference = train_small(model, kSequential, 1, 2);
    for (const int ranks : kRanks) {
      const Schedule schedule = random_schedule(random, model);
      const Outcome outcome = train_small(model, schedule, ranks, 2);
      const double limit = tolerance(model.dtype);
      EXPECT_NEAR(outcome.losses[0], reference.losses[0], limit * reference.losses[0])
          << describe(model, schedule, ranks);
      EXPECT_NEAR(outcome.auxiliary_losses[0], reference.auxiliary_losses[0],
                  limit * reference.auxiliary_losses[0])
          << describe(model, schedule, ranks);
      EXPECT_LT(largest_difference(outcome, reference), limit * 10)
          << describe(model, schedule, ranks);
      // The second step's loss has gone through the update.
      EXPECT_NEAR(outcome.losses[1], reference.losses[1], 100 * limit * reference.losses[1])
          << describe(model, schedule, ranks);
      EXPECT_EQ(outcome.dropped, reference.dropped) << describe(model, schedule, ranks);
    }
  }
}

TEST(ScheduleInvariance, EveryPairOfDegreesGivesTheSameGradients) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Model model = small_model(dtype);
    model.capacity_factor = 1.25;
    const Outcome reference = train_small(model, kSequential, 1, 1);
    for (int forward = 1; forward <= 4; ++forward)
      for (int backward = 1; backward <= 4; ++backward) {
        const Outcome outcome = train_small(model, chunked(model, forward, backward), 2, 1);
        EXPECT_NEAR(outcome.losses[0], reference.losses[0], tolerance(dtype) * reference.losses[0]);
        EXPECT_LT(largest_difference(outcome, reference), tolerance(dtype))
            << forward << " forward, " << backward << " backward";
      }
  }
}

TEST(ScheduleInvariance, StreamsAloneChangeNoBit) {
  const Model model = small_model(DType::f32);
  const Schedule streams{
      "streams", {}, {{"all_to_all", Stream::inter_node}, {"all_reduce", Stream::intra_node}}};
  for (const int ranks : kRanks) {
    const Outcome one = train_small(model, kSequential, ranks, 3);
    const Outcome other = train_small(model, streams, ranks, 3);
    EXPECT_EQ(one.losses, other.losses);
    EXPECT_EQ(one.gradients, other.gradients);
  }
}

TEST(ScheduleInvariance, ForwardChunksChangeNoBitOfTheLoss) {
  // Rows do not know of each other in forward, and double's matrix product sums each row alike.
  const Model model = small_model(DType::f64);
  for (const int ranks : kRanks) {
    const Outcome one = train_small(model, kSequential, ranks, 1);
    for (const int chunks : {2, 3, 4})
      EXPECT_EQ(one.losses, train_small(model, chunked(model, chunks, 1), ranks, 1).losses);
  }
}

TEST(ScheduleInvariance, TwentyStepsStayTogether) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1.25;
  model.learning_rate = 3e-3;
  const Outcome reference = train_small(model, kSequential, 1, 20);
  EXPECT_LT(reference.losses.back(), reference.losses.front() - 0.3) << "it should learn";
  for (const int ranks : kRanks) {
    const Outcome outcome = train_small(model, chunked(model, 3, 2), ranks, 20);
    for (int step = 0; step < 20; ++step)
      EXPECT_NEAR(outcome.losses[step], reference.losses[step], 1e-4)
          << ranks << " ranks, step " << step;
  }
}

TEST(ScheduleInvariance, ExpertsHeldByTwoGroupsGiveTheSameGradients) {
  const Model model = small_model(DType::f64);
  const Outcome reference = train_small(model, kSequential, 1, 1);
  const Outcome outcome = train_small(model, chunked(model, 2, 3), 4, 2, 1);
  EXPECT_NEAR(outcome.losses[0], reference.losses[0], kDouble * reference.losses[0]);
  EXPECT_LT(largest_difference(outcome, reference), kDouble);
}

TEST(ScheduleInvariance, PlannedPeakIsTheMeasuredPeak) {
  std::mt19937 random(7);
  for (int i = 0; i < 6; ++i) {
    const Model model = random_model(random);
    const Schedule schedule = random_schedule(random, model);
    for (const int ranks : {1, 4}) {
      const Outcome outcome = train_small(model, schedule, ranks, 1);
      EXPECT_EQ(outcome.planned_peaks, outcome.measured_peaks);
      // The plan made beforehand from this routing says the same.
      const Groups groups = make_groups(ranks, ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        const Program program = apply(build_iteration(model, groups, rank), schedule);
        EXPECT_EQ(planned_peak_bytes(program, bind(program, outcome.routing, groups, rank)),
                  outcome.measured_peaks[rank]);
      }
    }
  }
}

TEST(ScheduleInvariance, MeasuredSpansAreTheProgramsOpsInTheOrderOfTheirStreams) {
  const Model model = small_model(DType::f32);
  const Schedule schedule = chunked(model, 3, 2);
  const Outcome outcome = train_small(model, schedule, 4, 1);
  const Program program = apply(build_iteration(model, make_groups(4, 4), 0), schedule);
  for (const auto& spans : outcome.timeline.ranks) {
    ASSERT_EQ(spans.size(), program.ops.size());
    std::array<double, kStreamCount> end{};
    for (std::size_t i = 0; i < spans.size(); ++i) {
      EXPECT_EQ(spans[i].op, static_cast<int>(i));
      auto& last = end[static_cast<std::size_t>(program.ops[i].stream)];
      EXPECT_GE(spans[i].start_s, last);
      last = spans[i].start_s + spans[i].duration_s;
    }
    const auto waits = dependencies(program);
    for (std::size_t i = 0; i < spans.size(); ++i)
      for (const int earlier : waits[i])
        EXPECT_GE(spans[i].start_s, spans[earlier].start_s + spans[earlier].duration_s);
  }
}

}  // namespace
}  // namespace moe::testing
