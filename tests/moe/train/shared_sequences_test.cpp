// batch_per = "tp_group": ranks that share dense matrices have whole sequences together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::shared_sequences_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// 6 sequences of 8 tokens.
Model six_sequences(Positions positions) {
  Model model = small_model(DType::f64);
  model.global_batch = 6;
  model.capacity_groups = 12;
  model.capacity_factor = 1.25;
  model.positions = positions;
  model.batch_per = BatchPer::tp_group;
  return model;
}

TEST(SharedSequences, OfTpRanksGiveTheLossesAndGradientsOfOneRank) {
  for (const Positions positions : {Positions::learned, Positions::rotary}) {
    const Model model = six_sequences(positions);
    const Outcome reference = train_small(model, {}, 1, 2);
    for (const Layout layout : {Layout{1, 2, 2, 2}, Layout{1, 4, 1, 2}, Layout{1, 2, 1, 2, 2}}) {
      const Outcome outcome = train_small(model, chunked(model, 2, 3), layout, 2);
      EXPECT_NEAR(outcome.losses[0], reference.losses[0], 1e-12 * reference.losses[0]);
      EXPECT_LT(largest_difference(outcome, reference), 1e-11) << to_text(layout);
      EXPECT_EQ(outcome.dropped, reference.dropped);
    }
  }
}

TEST(SharedSequences, ARankHasAnEqualShareOfItsGroupsTokens) {
  const Model model = six_sequences(Positions::learned);
  for (int rank = 0; rank < 4; ++rank) {
    const Program program = build_iteration(model, make_groups(Layout{1, 2, 2, 2}), rank);
    EXPECT_EQ(program.tensors[static_cast<std::size_t>(program.tokens.front())].rows, 12);
    EXPECT_EQ(std::get<EmbedTokens>(program.ops.front().kind).first_position,
              rank % 2 == 0 ? 0 : 4);
  }
}

TEST(SharedSequences, AreOfferedWhereABatchDoesNotDivideByRanksAndRefusedWhereTokensDoNot) {
  Model model = six_sequences(Positions::learned);
  model.batch_per = BatchPer::rank;
  const Groups groups = make_groups(Layout{1, 2, 2, 2});
  EXPECT_THAT([&] { check(model, groups); },
              ThrowsMessage<Refusal>(HasSubstr("batch_per = \"tp_group\"")));
  model.batch_per = BatchPer::tp_group;
  model.global_batch = 5;
  EXPECT_THAT([&] { check(model, groups); },
              ThrowsMessage<Refusal>(HasSubstr("does not divide by 2 groups of 2 ranks (tp)")));
  model.global_batch = 6;
  model.sequence_length = 7;
  model.capacity_groups = 0;
  EXPECT_THAT([&] { check(model, groups); },
              ThrowsMessage<Refusal>(HasSubstr("42 tokens (global_batch = 6 times sequence_length "
                                               "= 7) do not divide by 4 ranks")));
}

}  // namespace
}  // namespace moe::test::shared_sequences_test
