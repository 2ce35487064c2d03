// weight_gradients = "before_return": experts' weight gradients come before the exchange back.
#include <gtest/gtest.h>

#include <random>
#include <variant>

#include "moe/model/iteration.h"
#include "tests/moe/passes/random_draw.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::weight_gradients_test {
namespace {

Model computed(Model model, WeightGradientTime when) {
  model.weight_gradients = when;
  return model;
}

/// The ops of experts' weight gradients that come after the exchange back of the same layer and
/// chunk.
int after_return(const Program& program) {
  int count = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& weights = program.ops[i];
    if (!std::holds_alternative<ExpertLinearWeightGradient>(weights.kind)) continue;
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      const Op& op = program.ops[earlier];
      count += op.phase == Phase::backward && op.layer == weights.layer &&
               op.chunk.index == weights.chunk.index && direction_of(op) == Direction::combine;
    }
  }
  return count;
}

TEST(WeightGradients, StandBeforeTheExchangeBackOfTheirChunkWhereTheModelSaysSo) {
  const Groups groups = make_groups(Layout{1, 2, 2});
  for (const char* expert : {"gpt", "mixtral"}) {
    Model model = small_model(DType::f32);
    model.expert = expert;
    for (const int chunks : {1, 3}) {
      const auto program = [&](WeightGradientTime when) {
        const Model one = computed(model, when);
        return apply(build_iteration(one, groups, 0), chunked(one, 1, chunks));
      };
      const int matrices = expert == std::string("gpt") ? 2 : 3;
      EXPECT_EQ(after_return(program(WeightGradientTime::beside_return)), chunks * matrices);
      EXPECT_EQ(after_return(program(WeightGradientTime::before_return)), 0);
    }
  }
}

TEST(WeightGradients, TrainToTheSameBitsWheneverTheyAreComputed) {
  std::mt19937 random(5);
  int trained = 0;
  for (int i = 0; i < 400 && trained < 20; ++i) {
    const Draw draw = random_draw(random);
    const Groups groups = make_groups(draw.layout, draw.node_of);
    const auto model = [&](WeightGradientTime when) { return computed(draw.model, when); };
    const Model before = model(WeightGradientTime::before_return);
    if (!is_legal(build_iteration(before, groups, 0), draw.schedule)) continue;
    const Model beside = model(WeightGradientTime::beside_return);
    if (!is_legal(build_iteration(beside, groups, 0), draw.schedule)) continue;
    const Outcome expected = train_small(beside, draw.schedule, groups, 2);
    const Outcome outcome = train_small(before, draw.schedule, groups, 2);
    EXPECT_EQ(outcome.losses, expected.losses) << describe(draw);
    EXPECT_EQ(outcome.gradients, expected.gradients) << describe(draw);
    EXPECT_EQ(outcome.state, expected.state) << describe(draw);
    ++trained;
  }
  EXPECT_EQ(trained, 20);
}

}  // namespace
}  // namespace moe::test::weight_gradients_test
