// shard_vocabulary = true: ranks of tp cut the token table, the head and the loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "tests/moe/kernels/run_case.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::shared_vocabulary_test {
namespace {

using ::testing::HasSubstr;

Model sharded(Head head, Positions positions) {
  Model model = small_model(DType::f64);
  model.head = head;
  model.positions = positions;
  model.heads = 4;
  model.shard_vocabulary = true;
  return model;
}

TEST(SharedVocabulary, GivesTheLossesAndGradientsOfAWholeOne) {
  for (const Head head : {Head::untied, Head::tied}) {
    for (const Positions positions : {Positions::learned, Positions::rotary}) {
      Model model = sharded(head, positions), whole = model;
      whole.shard_vocabulary = false;
      const Outcome reference = train_small(whole, {}, 1, 3);
      for (const Layout layout : {Layout{1, 2, 1, 2}, Layout{1, 4, 1, 2}, Layout{1, 4, 1, 4}}) {
        const Outcome outcome = train_small(model, {}, layout, 3);
        EXPECT_NEAR(outcome.losses[0], reference.losses[0], 1e-12 * reference.losses[0]);
        EXPECT_NEAR(outcome.losses[2], reference.losses[2], 1e-9 * reference.losses[2]);
        EXPECT_LT(largest_difference(outcome, reference), 1e-11) << to_text(layout);
      }
    }
  }
}

TEST(SharedVocabulary, OfMicroBatchesStagesAndSharedSequencesToo) {
  Model model = sharded(Head::untied, Positions::learned);
  model.micro_batches = 2;
  model.global_batch = 12;
  model.capacity_groups = 8;
  model.batch_per = BatchPer::tp_group;
  Model whole = model;
  whole.shard_vocabulary = false;
  const Outcome reference = train_small(whole, {}, 1, 1);
  for (const Layout layout : {Layout{1, 2, 2, 2}, Layout{1, 2, 1, 2, 2}}) {
    const Outcome outcome = train_small(model, {}, layout, 1);
    EXPECT_NEAR(outcome.losses[0], reference.losses[0], 1e-12 * reference.losses[0]);
    EXPECT_LT(largest_difference(outcome, reference), 1e-11) << to_text(layout);
  }
}

TEST(SharedVocabulary, LeavesNoMatrixOfTheWholeVocabularyToReduce) {
  const Model model = sharded(Head::untied, Positions::learned);
  const Program program = build_iteration(model, make_groups(Layout{1, 4, 1, 2}), 1);
  int tables = 0;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[static_cast<std::size_t>(parameter.value)];
    EXPECT_NE(tensor.rows, model.vocabulary) << tensor.name;
    EXPECT_NE(tensor.columns, model.vocabulary) << tensor.name;
    if (tensor.name != "token_table" && tensor.name != "head.weight") continue;
    ++tables;
    EXPECT_EQ(tensor.rows * tensor.columns, model.vocabulary / 2 * model.d_model);
    EXPECT_EQ(parameter.replicas, GroupKind::data);
  }
  EXPECT_EQ(tables, 2);
}

TEST(SharedVocabulary, IsRefusedWhereItDoesNotDivideWithTheNextThatDoes) {
  Model model = sharded(Head::untied, Positions::learned);
  model.vocabulary = 33;
  const auto refusal = layout_refusal(model, Layout{1, 4, 1, 2});
  ASSERT_TRUE(refusal);
  EXPECT_THAT(refusal->message, HasSubstr("vocabulary = 33 does not divide by 2 ranks that the "
                                          "vocabulary is cut over (tp)"));
  ASSERT_EQ(refusal->changes.size(), 2u);
  EXPECT_EQ(refusal->changes[1].text, "vocabulary = 34");
}

TEST(KernelSharedVocabulary, SharesOfALossAreThoseOfTheWhole) {
  const auto backend = make_cpu_backend(1);
  const HostTensor logits = random_tensor(6, 8, 1, 3), targets = random_integers(6, 1, 2, 8);
  const auto whole =
      run_case(*backend, {"whole", CrossEntropy{6}, {logits, targets}, {blank(1, 1), blank(6, 1)}},
               DType::f64);
  HostTensor all{12, 2};
  for (int rank = 0; rank < 2; ++rank) {
    HostTensor own{6, 4};
    for (std::size_t t = 0; t < 6; ++t) {
      for (std::size_t v = 0; v < 4; ++v) {
        own.values.push_back(logits.values[8 * t + 4 * static_cast<std::size_t>(rank) + v]);
      }
    }
    const auto statistics =
        run_case(*backend, {"share", VocabularyStatistics{4 * rank}, {own, targets}, {blank(6, 2)}},
                 DType::f64);
    all.values.insert(all.values.end(), statistics[0].values.begin(), statistics[0].values.end());
  }
  double loss = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const auto share = run_case(
        *backend, {"loss", SharedCrossEntropy{6, 2, rank}, {all}, {blank(1, 1), blank(6, 1)}},
        DType::f64);
    loss += share[0].values[0];
    for (std::size_t t = 0; t < 6; ++t) {
      EXPECT_NEAR(share[1].values[t], whole[1].values[t], 1e-14 * std::abs(whole[1].values[t]));
    }
  }
  EXPECT_NEAR(loss, whole[0].values[0], 1e-14 * whole[0].values[0]);
}

}  // namespace
}  // namespace moe::test::shared_vocabulary_test
