#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::bias_adjusted_test {
namespace {

Model adjusted_model() {
  Model model = small_model(DType::f64);
  model.gate = "bias_adjusted";
  model.experts = 4;
  model.learning_rate = 1e-9;  // so that only the bias changes the loads
  return model;
}

/// Copies that the expert with most gets, over those of the mean expert.
double largest_load(const Outcome& outcome) {
  const LayerRouting& layer = outcome.routing.layers.at(0);
  std::vector<double> load(static_cast<std::size_t>(layer.experts));
  double sum = 0;
  for (const auto& of_rank : layer.tokens) {
    for (std::size_t e = 0; e < load.size(); ++e) {
      load[e] += static_cast<double>(of_rank[e]);
      sum += static_cast<double>(of_rank[e]);
    }
  }
  return *std::max_element(load.begin(), load.end()) / sum * layer.experts;
}

TEST(BiasAdjustedGate, EvensLoadsOutWithoutAnAuxiliaryLoss) {
  Model model = adjusted_model();
  const Outcome first = train_small(model, {}, 2, 1), last = train_small(model, {}, 2, 30);
  EXPECT_GT(largest_load(first), 1.2);
  EXPECT_LT(largest_load(last), 1 + (largest_load(first) - 1) / 2);
  EXPECT_EQ(last.auxiliary_losses.back(), 0);
  model.own["bias_speed"] = 0.0;
  EXPECT_GT(largest_load(train_small(model, {}, 2, 30)), largest_load(last));
}

TEST(BiasAdjustedGate, KeepsABiasThatNoOptimizerAndNoReductionSees) {
  const Program program = build_iteration(adjusted_model(), make_groups(2, 2), 0);
  TensorId bias = -1, loads = -1;
  for (const Parameter& parameter : program.parameters) {
    if (!program.tensors[parameter.value].name.ends_with("gate.expert_bias")) continue;
    bias = parameter.value;
    EXPECT_FALSE(parameter.optimized);
    loads = parameter.gradient;
    EXPECT_TRUE(parameter.optimizer_state.empty());
    EXPECT_EQ(parameter.initial, Initial::zero);
  }
  ASSERT_GE(bias, 0);
  int written = 0;
  for (const Op& op : program.ops) {
    for (const Use& use : op.writes) {
      EXPECT_FALSE(use.tensor == loads && kind_name(op) == "all_reduce");
      if (use.tensor != bias) continue;
      ++written;
      EXPECT_EQ(kind_name(op), "adjust_expert_bias");
      EXPECT_EQ(op.phase, Phase::update);
    }
  }
  EXPECT_EQ(written, 1);
  for (const Op& op : forward_only(program).ops) EXPECT_NE(kind_name(op), "adjust_expert_bias");
}

}  // namespace
}  // namespace moe::test::bias_adjusted_test
