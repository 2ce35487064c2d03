#include "moe/train/text_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "moe/model/iteration.h"
#include "moe/train/trainer.h"
#include "tests/moe/train/training_case.h"

namespace moe::text_sample_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Lt;
using ::testing::SizeIs;

TEST(NextToken, IsTheMostProbableAtTemperatureZero) {
  EXPECT_EQ(next_token({0.5, 2, 1, 2}, 0, 0.9), 1);
}

TEST(NextToken, IsDrawnFromTheSoftmax) {
  // e^0, e^log 2 and e^log 5 of 8: up to 1/8, 3/8 and 1.
  const std::vector<double> logits{0, std::log(2), std::log(5)};
  EXPECT_EQ(next_token(logits, 1, 0.124), 0);
  EXPECT_EQ(next_token(logits, 1, 0.126), 1);
  EXPECT_EQ(next_token(logits, 1, 0.374), 1);
  EXPECT_EQ(next_token(logits, 1, 0.376), 2);
  EXPECT_EQ(next_token(logits, 1, 1), 2);
  // At temperature 1/2 the weights are squared: 1, 4 and 25 of 30.
  EXPECT_EQ(next_token(logits, 0.5, 1.0 / 29), 1);
  EXPECT_EQ(next_token(logits, 0.5, 5.1 / 30), 2);
}

struct Told {
  std::vector<std::int32_t> tokens;
  std::vector<std::pair<int, double>> evaluated;
  std::vector<double> heldout_losses;
};

Told trained(const Model& model, const Layout& layout, TrainOptions options) {
  const auto file =
      std::filesystem::path(::testing::TempDir()) / ("sample" + std::to_string(getpid()) + ".bin");
  const Corpus corpus = test::open_small_corpus(file, model);
  const Groups groups = make_groups(layout);
  options.run.memory_limit_bytes = 1 << 28;
  Told told;
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    TrainObserver observer;
    observer.sampled = [&](const std::vector<std::int32_t>& tokens) { told.tokens = tokens; };
    observer.evaluated = [&](int iteration, double loss) {
      told.evaluated.emplace_back(iteration, loss);
    };
    observer.step = [&](const StepReport& step) {
      if (step.heldout_loss) told.heldout_losses.push_back(*step.heldout_loss);
    };
    train(model, build_iteration(model, groups, world.rank), {}, corpus, groups, *backend, world,
          std::vector<RankInfo>(static_cast<std::size_t>(groups.ranks)), options, observer);
  });
  std::filesystem::remove(file);
  return told;
}

/// A model that has learnt something in few steps.
Model quick_model() {
  Model model = test::small_model(DType::f64);
  model.learning_rate = 0.02;
  return model;
}

TrainOptions writing(int steps, double temperature, std::vector<std::int32_t> prompt = {1, 2, 3}) {
  TrainOptions options;
  options.steps = steps;
  options.evaluate_batches = 1;
  options.sample = SampleOptions{std::move(prompt), 20, temperature};
  return options;
}

TEST(TextSample, IsTheSameOnAnyLayout) {
  Model model = quick_model();
  model.blocks = 2;
  model.moe_every = 1;
  model.shard_vocabulary = true;
  model.micro_batches = 2;
  model.global_batch *= 2;
  model.capacity_groups = 0;
  for (const double temperature : {0.0, 0.8}) {
    const auto alone = trained(model, {1, 1, 1}, writing(4, temperature)).tokens;
    ASSERT_THAT(alone, AllOf(SizeIs(20), Each(AllOf(Ge(0), Lt(model.vocabulary)))));
    for (const Layout& layout :
         {Layout{1, 4, 1}, Layout{1, 2, 1, 2}, Layout{2, 1, 2, 2}, Layout{1, 2, 1, 1, 2}}) {
      EXPECT_EQ(trained(model, layout, writing(4, temperature)).tokens, alone) << to_text(layout);
    }
  }
}

TEST(TextSample, ContinuesAPromptLongerThanASequence) {
  const Model model = quick_model();
  std::vector<std::int32_t> longer(static_cast<std::size_t>(model.sequence_length) + 5);
  for (std::size_t i = 0; i < longer.size(); ++i) longer[i] = static_cast<std::int32_t>(i % 7);
  const std::vector<std::int32_t> end(longer.end() - model.sequence_length, longer.end());
  EXPECT_EQ(trained(model, {1, 1, 1}, writing(3, 0, longer)).tokens,
            trained(model, {1, 1, 1}, writing(3, 0, end)).tokens);
}

TEST(TextSample, OfParametersThatAreOnlyEvaluatedIsThatOfTheirTraining) {
  const Model model = quick_model();
  TrainOptions options = writing(1, 0);
  options.only_evaluates = true;
  const Told first = trained(model, {1, 1, 1}, options);
  ASSERT_EQ(first.evaluated.size(), 1u);
  EXPECT_EQ(first.evaluated.front().first, 0);
  EXPECT_TRUE(first.heldout_losses.empty()) << "no iteration";
  EXPECT_THAT(first.tokens, SizeIs(20));
  EXPECT_NE(trained(model, {1, 1, 1}, writing(5, 0)).tokens, first.tokens) << "it has learnt";
}

}  // namespace
}  // namespace moe::text_sample_test
