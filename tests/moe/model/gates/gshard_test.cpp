#include <gtest/gtest.h>

#include <cmath>

#include "moe/model/iteration.h"
#include "tests/moe/model/gates/gate_program.h"

namespace moe::test::gshard_test {
namespace {

GateInputs noisy_inputs() {
  GateInputs inputs;
  Model& model = inputs.model;
  model.gate = "gshard";
  model.d_model = 4;
  model.heads = 1;
  model.experts = 5;
  model.choices = 2;
  model.sequence_length = 4;
  model.global_batch = 100;
  model.dtype = DType::f64;
  for (int i = 0; i < 400 * 4; ++i) inputs.x.push_back(std::sin(i));
  inputs.d_weight.assign(400 * 2, 0.5);
  inputs.d_weight_columns = 2;
  inputs.ids.assign(400, 0);
  std::vector<double> weight(4 * 5), nothing(4 * 5);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] = std::cos(3 * static_cast<double>(i));
  }
  inputs.parameters = {{"gate.weight", weight}, {"gate.noise.weight", nothing}};
  return inputs;
}

TEST(GshardGate, DrawsOtherNoiseInEveryIterationLayerAndSeed) {
  const GateInputs inputs = noisy_inputs();
  const GateResults first = run_gate(inputs, 1);
  EXPECT_EQ(run_gate(inputs, 1).weight, first.weight);
  for (const int changed : {0, 1, 2}) {
    GateInputs other = inputs;
    if (changed == 0) other.step = 2;
    if (changed == 1) other.layer = 1;
    if (changed == 2) other.model.seed = 2;
    EXPECT_NE(run_gate(other, 1).weight, first.weight) << changed;
  }
}

TEST(GshardGate, WeighsATokenAlikeOnAnyNumberOfRanks) {
  const GateInputs inputs = noisy_inputs();
  const GateResults one = run_gate(inputs, 1);
  for (const int ranks : {2, 4, 5}) {
    const GateResults many = run_gate(inputs, ranks);
    EXPECT_EQ(many.expert, one.expert);
    EXPECT_EQ(many.weight, one.weight);
  }
}

/// Held-out losses.
TEST(GshardGate, WithoutNoiseIsTheSoftmaxGate) {
  const GateInputs inputs = noisy_inputs();
  GateInputs plain = inputs;
  plain.model.gate = "softmax";
  const GateResults noisy = run_gate(inputs, 1), quiet = run_gate(inputs, 1, without_noise),
                    softmax = run_gate(plain, 1);
  EXPECT_EQ(quiet.expert, softmax.expert);
  EXPECT_EQ(quiet.weight, softmax.weight);
  EXPECT_NE(noisy.expert, softmax.expert);
}

}  // namespace
}  // namespace moe::test::gshard_test
