// Schedules by hand, on small models: training computes the same, and spans are the Program's ops.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::fixed_schedules_test {
namespace {

constexpr int kRanks[] = {1, 2, 4, 7};  // that divide the small model
constexpr double kDouble = 1e-12;       // what rounding explains when sums have another order

double tolerance(DType dtype) { return dtype == DType::f64 ? kDouble : 1e-5; }

const Schedule kSequential{"sequential", {}};

TEST(FixedSchedules, EveryPairOfDegreesGivesTheSameGradients) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Model model = small_model(dtype);
    model.capacity_factor = 1.25;
    const Outcome reference = train_small(model, kSequential, 1, 1);
    for (int forward = 1; forward <= 4; ++forward) {
      for (int backward = 1; backward <= 4; ++backward) {
        const Outcome outcome = train_small(model, chunked(model, forward, backward), 2, 1);
        EXPECT_NEAR(outcome.losses[0], reference.losses[0], tolerance(dtype) * reference.losses[0]);
        EXPECT_LT(largest_difference(outcome, reference), tolerance(dtype))
            << forward << " forward, " << backward << " backward";
      }
    }
  }
}

TEST(FixedSchedules, StreamsAloneChangeNoBit) {
  const Model model = small_model(DType::f32);
  const Schedule streams{"streams",
                         {StreamAssignment{"all_to_all", Stream::inter_node},
                          StreamAssignment{"all_reduce", Stream::intra_node}}};
  for (const int ranks : kRanks) {
    const Outcome one = train_small(model, kSequential, ranks, 3);
    const Program program = build_iteration(model, make_groups(ranks, ranks), 0);
    const Outcome other = train_small(model, with_streams_of(program, streams), ranks, 3);
    EXPECT_EQ(one.losses, other.losses);
    EXPECT_EQ(one.gradients, other.gradients);
  }
}

TEST(FixedSchedules, ForwardChunksChangeNoBitOfTheLoss) {
  // Rows do not know of each other in forward, and double's matrix product sums each row alike.
  const Model model = small_model(DType::f64);
  for (const int ranks : kRanks) {
    const Outcome one = train_small(model, kSequential, ranks, 1);
    for (const int chunks : {2, 3, 4}) {
      EXPECT_EQ(one.losses, train_small(model, chunked(model, chunks, 1), ranks, 1).losses);
    }
  }
}

TEST(FixedSchedules, ExpertsThatComputeGroupByGroupGiveTheSameGradients) {
  // Every row is computed as it was; only weight gradients add up in the order of the groups.
  const Model model = small_model(DType::f64);
  const Outcome reference = train_small(model, kSequential, 1, 3);
  for (const int ranks : {2, 4, 7}) {
    for (const int size : divisors(ranks)) {
      Schedule schedule = chunked(model, ranks / size, ranks / size);
      for (Decision& decision : schedule.decisions) {
        if (auto* split = std::get_if<PipelineSplit>(&decision)) split->ranks_per_group = size;
      }
      const Outcome outcome = train_small(model, schedule, ranks, 3);
      EXPECT_EQ(outcome.losses[0], train_small(model, kSequential, ranks, 1).losses[0]);
      EXPECT_NEAR(outcome.losses[2], reference.losses[2], kDouble * reference.losses[2]);
      EXPECT_LT(largest_difference(outcome, reference), 10 * kDouble)
          << ranks << " ranks in groups of " << size;
    }
  }
}

TEST(FixedSchedules, TwentyStepsStayTogether) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1.25;
  model.learning_rate = 3e-3;
  const Outcome reference = train_small(model, kSequential, 1, 20);
  EXPECT_LT(reference.losses.back(), reference.losses.front() - 0.3) << "it should learn";
  for (const int ranks : kRanks) {
    const Outcome outcome = train_small(model, chunked(model, 3, 2), ranks, 20);
    for (int step = 0; step < 20; ++step) {
      EXPECT_NEAR(outcome.losses[step], reference.losses[step], 1e-4)
          << ranks << " ranks, step " << step;
    }
  }
}

TEST(FixedSchedules, ExpertsHeldByTwoGroupsGiveTheSameGradients) {
  const Model model = small_model(DType::f64);
  const Outcome reference = train_small(model, kSequential, 1, 1);
  const Outcome outcome = train_small(model, chunked(model, 2, 3), Layout{2, 2, 1}, 1);
  EXPECT_NEAR(outcome.losses[0], reference.losses[0], kDouble * reference.losses[0]);
  EXPECT_LT(largest_difference(outcome, reference), kDouble);
}

TEST(FixedSchedules, MeasuredSpansAreTheProgramsOpsInTheOrderOfTheirStreams) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(4, 4, {0, 0, 1, 1});
  for (const Route route : {Route::flat, Route::one_d, Route::two_d, Route::pairwise}) {
    Schedule schedule = chunked(model, 3, 2);
    schedule.decisions.push_back(Exchange{1, Phase::forward, {}, route, 2});
    schedule.decisions.push_back(Exchange{1, Phase::backward, {}, route, 1});
    schedule.decisions.push_back(StreamAssignment{"exchange_in_node", Stream::intra_node});
    schedule.decisions.push_back(StreamAssignment{"exchange_across_nodes", Stream::inter_node});
    const Program sequential = build_iteration(model, groups, 0);
    schedule = with_streams_of(sequential, schedule);
    const Outcome outcome = train_small(model, schedule, groups, 1);
    const Program program = apply(sequential, schedule);
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
      for (std::size_t i = 0; i < spans.size(); ++i) {
        for (const int earlier : waits[i]) {
          EXPECT_GE(spans[i].start_s, spans[earlier].start_s + spans[earlier].duration_s);
        }
      }
    }
  }
}

}  // namespace
}  // namespace moe::test::fixed_schedules_test
