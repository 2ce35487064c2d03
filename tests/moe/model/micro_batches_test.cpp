#include "moe/model/micro_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/model/iteration.h"
#include "moe/program/program_builder.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::micro_batches_test {
namespace {

TEST(MicroBatches, GradientsAreThoseOfTheWholeBatch) {
  Model model = small_model(DType::f64);
  model.capacity_factor.reset();
  model.auxiliary_weight = 0;  // the load-balancing loss is of a micro-batch
  const Outcome whole = train_small(model, {}, 1, 2);
  for (const int parts : {2, 4, 7}) {
    model.micro_batches = parts;
    for (const int ranks : {1, 2}) {
      if (model.global_batch / parts % ranks != 0) continue;
      const Outcome in_parts = train_small(model, {}, ranks, 2);
      EXPECT_NEAR(in_parts.losses[1], whole.losses[1], 1e-12 * whole.losses[1]) << parts;
      EXPECT_LT(largest_difference(in_parts, whole), 1e-12) << parts << " on " << ranks;
    }
  }
}

TEST(MicroBatches, DropTheTokensOfTheWholeBatchWhereCapacityGroupsLieWithinThem) {
  Model model = small_model(DType::f64);
  model.capacity_factor = 0.75;
  const Outcome whole = train_small(model, {}, 1, 1);
  ASSERT_GT(whole.dropped.back(), 0);
  model.micro_batches = 4;
  EXPECT_EQ(train_small(model, {}, 1, 1).dropped, whole.dropped);
}

TEST(MicroBatches, TheLossOfLayersIsTheMeanOfTheirs) {
  Model model = small_model(DType::f64);
  const double whole = train_small(model, {}, 1, 1).auxiliary_losses[0];
  model.micro_batches = 4;
  // Less balanced than all tokens together, and of the same order: each is at least about 1.
  const double mean = train_small(model, {}, 1, 1).auxiliary_losses[0];
  EXPECT_GT(mean, 0.9 * whole);
  EXPECT_LT(mean, 3 * whole);
}

TEST(MicroBatches, NeedLessMemoryForActivations) {
  Model model = small_model(DType::f32);
  const std::int64_t whole = train_small(model, {}, 1, 1).planned_peaks[0];
  model.micro_batches = 7;
  EXPECT_LT(train_small(model, {}, 1, 1).planned_peaks[0], whole);
}

TEST(MicroBatches, RefuseAnOpThatCannotAddToAGradient) {
  ProgramBuilder build(DType::f32);
  const TensorId weight = build.parameter({"w", 4, 4});
  const TensorId x = build.input("x", 4);
  build.op(Sigmoid{}, "odd one", {x}, {build.gradient_of(weight)}, 0, Phase::backward);
  build.program.tokens = build.program.targets = build.program.losses = {x};
  try {
    repeat_for_micro_batches(build.program, 2);
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("\"odd one #2\" cannot add"));
  }
}

}  // namespace
}  // namespace moe::test::micro_batches_test
