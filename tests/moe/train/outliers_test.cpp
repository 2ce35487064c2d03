#include "moe/train/outliers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "moe/model/iteration.h"
#include "moe/train/trainer.h"
#include "tests/moe/train/training_case.h"

namespace moe::outliers_test {
namespace {

using ::testing::ElementsAre;

Model with_outliers(double z_score, std::int64_t window) {
  Model model = test::small_model(DType::f64);
  model.outlier_z_score = z_score;
  model.outlier_window = window;
  return model;
}

TEST(Outliers, LieAboveTheMeanByMoreDeviationsThanAllowed) {
  // Mean 4, squares 4 + 0 + 4, sample deviation 2.
  EXPECT_EQ(outlier_limit({2, 4, 6}, 3, 1.5), 7);
  EXPECT_EQ(outlier_limit({5, 5}, 2, 3), 5);
  EXPECT_EQ(outlier_limit({9, 5, 5}, 2, 3), 5) << "of a window that has become smaller";
  EXPECT_EQ(outlier_limit({2, 4}, 3, 1.5), std::nullopt) << "too few are known";

  const Model model = with_outliers(1.5, 3);
  const OutlierHistory known{{2, 4, 6}, {2, 4, 6}, 0};
  OutlierHistory history = known;
  EXPECT_FALSE(remember(history, model, 7, 7));
  EXPECT_THAT(history.losses, ElementsAre(4, 6, 7));
  EXPECT_EQ(history.skipped, 0);

  history = known;
  const auto of_loss = remember(history, model, 7.5, std::nullopt);
  ASSERT_TRUE(of_loss);
  EXPECT_EQ(of_loss->quantity, "loss");
  EXPECT_EQ(of_loss->limit, 7);
  EXPECT_THAT(history.losses, ElementsAre(4, 6, 7.5)) << "a lasting rise is soon none";
  EXPECT_THAT(history.gradient_norms, ElementsAre(2, 4, 6));

  history = known;
  const auto of_norm = remember(history, model, 1, 7.5);
  ASSERT_TRUE(of_norm);
  EXPECT_EQ(of_norm->quantity, "gradient norm");
  EXPECT_EQ(history.skipped, 1);
}

TEST(Outliers, AreNoneWhereTheModelDoesNotAsk) {
  const Model model = test::small_model(DType::f32);
  OutlierHistory history{{1, 1}, {1, 1}, 0};
  EXPECT_FALSE(is_outlier(history, model, 1e9));
  EXPECT_FALSE(remember(history, model, 1e9, 1e9));
  EXPECT_EQ(history, (OutlierHistory{{1, 1}, {1, 1}, 0}));
}

std::vector<StepReport> trained(const Model& model, const Layout& layout, int steps) {
  const auto file = std::filesystem::path(::testing::TempDir()) /
                    ("outliers" + std::to_string(getpid()) + ".bin");
  const Corpus corpus = test::open_small_corpus(file, model);
  const Groups groups = make_groups(layout);
  TrainOptions options;
  options.steps = steps;
  options.evaluate_every = 1;
  options.evaluate_batches = 1;
  options.run.memory_limit_bytes = 1 << 28;
  std::vector<StepReport> reports;
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    const std::unique_ptr<Backend> backend = make_cpu_backend(1);
    TrainObserver observer;
    observer.step = [&](const StepReport& step) { reports.push_back(step); };
    train(model, build_iteration(model, groups, world.rank), {}, corpus, groups, *backend, world,
          std::vector<RankInfo>(static_cast<std::size_t>(groups.ranks)), options, observer);
  });
  std::filesystem::remove(file);
  return reports;
}

/// An iteration changes what is held out, unless it is an outlier of `quantity`.
void expect_no_update_of_outliers(const Model& model, const Layout& layout,
                                  std::string_view quantity) {
  const std::vector<StepReport> steps = trained(model, layout, 20);
  ASSERT_EQ(steps.size(), 20u);
  int outliers = 0, updates = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const StepReport& step = steps[i];
    if (step.outlier) {
      EXPECT_EQ(step.heldout_loss, steps[i - 1].heldout_loss) << step.iteration;
      EXPECT_GT(step.outlier->value, step.outlier->limit);
      outliers += step.outlier->quantity == quantity ? 1 : 0;
    } else {
      EXPECT_NE(step.heldout_loss, steps[i - 1].heldout_loss) << step.iteration;
      ++updates;
    }
  }
  EXPECT_GT(outliers, 0) << quantity << " " << to_text(layout);
  EXPECT_GT(updates, 2);
  EXPECT_EQ(steps.back().skipped, 19 - updates);
}

TEST(Outliers, OfTheLossMakeNoUpdateOnAnyLayout) {
  Model model = with_outliers(0.25, 3);
  for (const Layout& layout : {Layout{1, 1, 1}, Layout{1, 2, 1}, Layout{1, 2, 1, 1, 2}}) {
    expect_no_update_of_outliers(model, layout, "loss");
  }
}

TEST(Outliers, OfTheNormMakeNoUpdateOnAnyLayoutAndOptimizer) {
  Model model = with_outliers(0.25, 3);
  model.learning_rate = 1e-4;
  model.clip_norm = 1e30;
  for (const Optimizer optimizer : {Optimizer::adamw, Optimizer::sgd}) {
    model.optimizer = optimizer;
    for (const Layout& layout : {Layout{1, 1, 1}, Layout{1, 2, 2, 2}, Layout{1, 2, 1, 1, 2}}) {
      expect_no_update_of_outliers(model, layout, "gradient norm");
    }
  }
  model.dtype = DType::bf16;
  expect_no_update_of_outliers(model, {1, 2, 1}, "gradient norm");
}

}  // namespace
}  // namespace moe::outliers_test
