#include "moe/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <iostream>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/rows/balance.h"
#include "moe/stop.h"
#include "moe/train/initialize.h"
#include "moe/train/step_flops.h"
#include "tests/moe/train/told_training.h"

namespace moe::trainer_test {
namespace {

using test::chunked;
using test::small_model;
using test::steps;
using test::Text;
using test::Told;
using test::trained;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Cross-entropy of the first `batches` held-out batches with fresh parameters, and no noise.
double heldout_by_hand(const Model& model, int batches) {
  const Text text(model);
  const Groups groups = make_groups(1, 1);
  const auto world = make_solo_communicator();
  const auto backend = make_cpu_backend(1);
  RunOptions options;
  options.memory_limit_bytes = 1 << 28;
  const Program program = without_noise(forward_only(build_iteration(model, groups, 0)));
  Runner runner(program, groups, *backend, *world, options);
  initialize_parameters(runner, model.seed);
  double sum = 0;
  for (int i = 0; i < batches; ++i) {
    const Batch batch =
        draw_batch(text.corpus, Split::held_out, model.seed, i, {0, model.global_batch});
    runner.write(program.tokens.front(), std::as_bytes(std::span(batch.tokens)));
    runner.write(program.targets.front(), std::as_bytes(std::span(batch.targets)));
    runner.iterate();
    double loss = 0;
    runner.read(program.losses.front(), std::as_writable_bytes(std::span(&loss, 1)));
    sum += loss;
  }
  return sum / batches;
}

TEST(Trainer, LossesAreThoseOfTheGlobalBatchOnAnyNumberOfRanks) {
  const Model model = small_model(DType::f64);
  const std::vector<double> one = trained(model, 1, steps(4)).losses();
  ASSERT_EQ(one.size(), 4u);
  EXPECT_NEAR(one[0], std::log(32), 0.1) << "nothing is learnt yet: all letters are alike";
  EXPECT_LT(one[3], one[0]);
  for (const int ranks : {2, 4}) {
    const Told told = trained(model, ranks, steps(4));
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(told.losses()[i], one[i], 1e-12);
  }
}

TEST(Trainer, ShuffledDataIsTheSameOnAnyNumberOfRanksAndTellsItsEpochs) {
  const Model model = small_model(DType::f64);
  TrainOptions options = steps(33);  // 28 sequences each, of 449
  options.data.order = DataOrder::shuffled;
  const Told one = trained(model, 1, options), four = trained(model, 4, options);
  std::vector<std::pair<int, std::int64_t>> ends;
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    EXPECT_NEAR(four.losses()[i], one.losses()[i], 1e-11);
    for (const EpochEnd& end : one.steps[i].epoch_ends) {
      ends.emplace_back(one.steps[i].iteration, end.epoch);
    }
  }
  EXPECT_THAT(ends, ElementsAre(std::pair(17, 1), std::pair(33, 2)));
}

TEST(Trainer, OneBatchAgainAndAgainIsLearntByHeart) {
  Model model = small_model(DType::f32);
  model.learning_rate = 0.01;
  TrainOptions options = steps(150);
  options.data.one_batch = true;
  const std::vector<double> losses = trained(model, 1, options).losses();
  EXPECT_GT(losses.front(), 3);
  EXPECT_LT(losses.back(), 0.1);
  options.data.one_batch = false;
  EXPECT_GT(trained(model, 1, options).losses().back(), 0.2) << "one after the other is not";
}

TEST(Trainer, TellsWhatAStepComputedAndHowEvenItsLoadsWere) {
  const Model model = small_model(DType::f32);
  TrainOptions options = steps(2);
  options.balanced_steps = 2;
  const Told told = trained(model, 2, options);
  for (const StepReport& step : told.steps) {
    const Groups groups = make_groups(2, 2);
    double flops = 0;
    for (int rank = 0; rank < 2; ++rank) {
      flops += StepFlops(build_iteration(model, groups, rank), groups, rank).under(step.routing);
    }
    EXPECT_DOUBLE_EQ(step.flops, flops);
    EXPECT_EQ(step.max_over_mean, worst_max_over_mean(step.routing));
    ASSERT_TRUE(step.exposed);
    EXPECT_GT(step.exposed->all_s, 0) << "everything runs in turn";
    EXPECT_LT(step.exposed->all_s, step.duration_s);
    EXPECT_LE(step.exposed->waiting_s, step.exposed->all_s);
    EXPECT_EQ(step.exposed->bubble_s, 0) << "one stage";
  }
  ASSERT_TRUE(told.balanced);
  EXPECT_GT(told.balanced->usual_s, 0);
  EXPECT_GT(told.balanced->share(), 0);
  EXPECT_FALSE(trained(model, 1, steps(1)).balanced);
}

TEST(Trainer, EvenRoutingGivesEveryExpertAsManyTokens) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Model model = small_model(dtype);
    const Text text(model);
    const Groups groups = make_groups(1, 1);
    const auto world = make_solo_communicator();
    const auto backend = make_cpu_backend(1);
    const Program program = with_even_routing(build_iteration(model, groups, 0));
    Runner runner(program, groups, *backend, *world, {.memory_limit_bytes = 1 << 28});
    initialize_parameters(runner, model.seed);
    const Batch batch = draw_batch(text.corpus, Split::training, 1, 1, {0, model.global_batch});
    runner.write(program.tokens.front(), std::as_bytes(std::span(batch.tokens)));
    runner.write(program.targets.front(), std::as_bytes(std::span(batch.targets)));
    const IterationResult result = runner.iterate();
    EXPECT_EQ(result.dropped, 0);
    EXPECT_THAT(result.routing.layers.front().tokens.front(), Each(16));
    EXPECT_EQ(worst_max_over_mean(result.routing), 1.0);
  }
}

TEST(Trainer, RanksOfTpThatShareSequencesTrainOnTheSameBatch) {
  Model model = small_model(DType::f64);
  model.global_batch = 12;
  model.capacity_groups = 8;
  model.micro_batches = 2;
  model.batch_per = BatchPer::tp_group;
  const auto alone = trained(model, 1, steps(3)).losses();
  // Two groups of two ranks have 3 sequences of 8 tokens a micro-batch: 12 tokens on each rank.
  const auto shared = trained(model, make_groups(Layout{1, 2, 2, 2}), steps(3)).losses();
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(shared.at(i), alone[i], 1e-9);
}

TEST(Trainer, StagesWithoutALossOfTheirOwnDecideWithTheOthers) {
  Model model = small_model(DType::f64);
  model.blocks = 4;
  TrainOptions options = steps(3);
  options.evaluate_batches = 1;
  for (const char* gate : {"softmax", "hash"}) {
    model.gate = gate;
    model.auxiliary_weight = model.gate == "hash" ? 0 : 0.01;
    for (const int micro_batches : {1, 2}) {
      model.micro_batches = micro_batches;
      const Told one = trained(model, 1, options);
      Schedule schedule;
      if (micro_batches > 1) schedule.decisions = {OrderMicroBatches{}};
      // Stages of one block: every other one dense.
      const Told told = trained(model, make_groups(Layout{1, 1, 1, 1, 4}), options, schedule);
      ASSERT_EQ(told.steps.size(), 3u);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(told.losses()[i], one.losses()[i], 1e-12);
      EXPECT_NEAR(told.steps.back().heldout_loss.value(), one.steps.back().heldout_loss.value(),
                  1e-12);
    }
  }
}

TEST(Trainer, RoutingSaysWhatGatesAskedForToo) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 0.5;
  const StepReport step = trained(model, 2, steps(1)).steps.at(0);
  ASSERT_GT(step.dropped, 0);
  std::int64_t dropped = 0;
  for (const LayerRouting& layer : step.routing.layers) {
    ASSERT_EQ(layer.asked.size(), 2u);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      std::int64_t asked = 0;
      for (std::size_t e = 0; e < layer.asked[rank].size(); ++e) {
        EXPECT_GE(layer.asked[rank][e], layer.tokens[rank][e]);
        asked += layer.asked[rank][e];
        dropped += layer.asked[rank][e] - layer.tokens[rank][e];
      }
      EXPECT_EQ(asked, model.choices * model.global_batch * model.sequence_length / 2);
    }
  }
  EXPECT_EQ(dropped, step.dropped);
}

TEST(Trainer, TheHeldOutLossIsTheMeanOfItsBatchesWithTheParametersOfThatIteration) {
  Model model = small_model(DType::f64);
  model.learning_rate = 0;  // parameters stay as they begin
  TrainOptions options = steps(3);
  options.evaluate_batches = 3;
  const double expected = heldout_by_hand(model, 3);
  for (const int ranks : {1, 2}) {
    const Told told = trained(model, ranks, options);
    EXPECT_FALSE(told.steps[0].heldout_loss || told.steps[1].heldout_loss) << "the last step only";
    EXPECT_NEAR(told.steps[2].heldout_loss.value(), expected, 1e-12);
  }
  EXPECT_NE(expected, heldout_by_hand(model, 2));
}

TEST(Trainer, AHeldOutLossHasNoNoiseAndTrainingHas) {
  Model model = small_model(DType::f64);
  model.gate = "gshard";
  model.learning_rate = 0;
  TrainOptions options = steps(2);
  options.evaluate_batches = options.evaluate_every = 1;
  const Told told = trained(model, 2, options);
  const double expected = heldout_by_hand(model, 1);
  EXPECT_NEAR(told.steps[0].heldout_loss.value(), expected, 1e-12);
  EXPECT_NEAR(told.steps[1].heldout_loss.value(), expected, 1e-12);
  const double noisy = told.losses()[0];
  model.gate = "softmax";
  EXPECT_GT(std::abs(trained(model, 2, steps(1)).losses()[0] - noisy), 1e-9);
}

TEST(Trainer, TellsTheRouterZLossWhereTheModelWeighsIt) {
  Model model = small_model(DType::f64);
  EXPECT_EQ(trained(model, 2, steps(1)).steps[0].z_loss, 0);
  model.z_loss_weight = 1e-3;
  // 28 experts of nearly equal logits: log(28)^2.
  const double one = std::log(28) * std::log(28);
  for (const int ranks : {1, 4}) {
    EXPECT_NEAR(trained(model, ranks, steps(1)).steps[0].z_loss, one, 0.1);
  }
}

TEST(Trainer, EvaluatingLeavesTrainingAsItIs) {
  const Model model = small_model(DType::f32);
  TrainOptions options = steps(5);
  const std::vector<double> without = trained(model, 2, options).losses();
  options.evaluate_batches = 2;
  options.evaluate_every = 2;
  const Told told = trained(model, 2, options, chunked(model, 2, 3));
  EXPECT_EQ(trained(model, 2, options).losses(), without);
  std::vector<int> evaluated;
  for (const StepReport& step : told.steps) {
    if (step.heldout_loss) evaluated.push_back(step.iteration);
  }
  EXPECT_THAT(evaluated, ElementsAre(2, 4, 5)) << "every second one, and the last";
}

/// The seconds of rank 0's clock in which each rank was at work.
std::vector<std::pair<double, double>> extents(const Timeline& timeline) {
  std::vector<std::pair<double, double>> of_ranks;
  for (const auto& spans : timeline.ranks) {
    auto& [begin_s, end_s] = of_ranks.emplace_back(spans.at(0).start_s, 0.0);
    for (const OpSpan& span : spans) {
      begin_s = std::min(begin_s, span.start_s);
      end_s = std::max(end_s, span.start_s + span.duration_s);
    }
  }
  return of_ranks;
}

// Once a clock has drifted, what was measured when the job began is not its offset any more.
TEST(Trainer, DurationsAndTimelinesDoNotNeedTheOffsetsThatWereMeasuredOnce) {
  for (const double wrong_s : {0.0, 1000.0, -1000.0}) {
    const Told told = trained(small_model(DType::f32), 2, steps(3), {}, {0, wrong_s});
    for (const StepReport& step : told.steps) {
      EXPECT_LT(step.duration_s, 500);
      ASSERT_EQ(step.timeline.ranks.size(), 2u);
      const auto of_ranks = extents(step.timeline);
      double last_s = 0;
      for (const auto& [begin_s, end_s] : of_ranks) {
        EXPECT_GE(begin_s, 0);
        last_s = std::max(last_s, end_s);
      }
      EXPECT_LT(of_ranks[0].first, of_ranks[1].second) << "one rank after the other";
      EXPECT_LT(of_ranks[1].first, of_ranks[0].second);
      EXPECT_NEAR(step.timeline.duration_s, last_s, 1e-6) << "begin to the end of the last span";
    }
  }
}

TEST(Trainer, ReportsSpansAndBytesOfEveryOpOfEveryRankUnlessNotAsked) {
  const Model model = small_model(DType::f32);
  const std::size_t ops = build_iteration(model, make_groups(2, 2), 0).ops.size();
  TrainOptions options = steps(1);
  const StepReport with = trained(model, 2, options).steps.at(0);
  ASSERT_EQ(with.timeline.ranks.size(), 2u);
  for (const auto& spans : with.timeline.ranks) EXPECT_EQ(spans.size(), ops);
  ASSERT_EQ(with.sent_bytes.size(), 2u);
  EXPECT_EQ(with.sent_bytes[1].size(), ops);
  options.run.record_spans = false;
  const StepReport without = trained(model, 2, options).steps.at(0);
  EXPECT_THAT(without.timeline.ranks, IsEmpty());
  EXPECT_GT(without.duration_s, 0);
  EXPECT_EQ(without.loss, with.loss);
}

TEST(Trainer, MemoryIsMeasuredWhileItWarmsUp) {
  const Told told = trained(small_model(DType::f32), 2, steps(kWarmupIterations + 1));
  EXPECT_THAT(told.steps[0].touched_peak_bytes, AllOf(::testing::SizeIs(2), Each(Gt(0))));
  EXPECT_THAT(told.steps[kWarmupIterations - 1].touched_peak_bytes, Each(Gt(0)));
  EXPECT_THAT(told.steps[kWarmupIterations].touched_peak_bytes, ElementsAre(0, 0));
  EXPECT_THAT(told.steps[kWarmupIterations].planned_peak_bytes, Each(Gt(0)));
}

TEST(Trainer, ALossThatIsNotFiniteEndsEveryRankWithItsIteration) {
  Model model = small_model(DType::f32);
  model.optimizer = Optimizer::sgd;
  model.learning_rate = 1e38;
  const Told told = trained(model, 2, steps(5));
  EXPECT_EQ(told.steps.size(), 1u);
  EXPECT_THAT(told.failures, Each(StartsWith("iteration 2: the loss is ")));
  EXPECT_EQ(told.failures[0], told.failures[1]);
}

TEST(Trainer, AHeldOutLossThatIsNotFiniteIsToldApart) {
  Model model = small_model(DType::f32);
  model.optimizer = Optimizer::sgd;
  model.learning_rate = 1e38;
  TrainOptions options = steps(1);
  options.evaluate_batches = 1;
  const Told told = trained(model, 1, options);
  EXPECT_THAT(told.failures, Each(StartsWith("after iteration 1 the held-out loss is ")));
}

TEST(TrainerDeathTest, ASignalEndsItAfterTheIterationThatIsReported) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        stop_when_asked();
        std::raise(SIGTERM);
        const Told told = trained(small_model(DType::f32), 2, steps(5));
        std::cerr << told.failures[0] << " | " << told.failures[1] << std::endl;
        std::exit(told.steps.size() == 1 ? 42 : 1);
      },
      ::testing::ExitedWithCode(42),
      "stopped after iteration 1: Terminated . stopped after iteration 1: Terminated");
}

}  // namespace
}  // namespace moe::trainer_test
