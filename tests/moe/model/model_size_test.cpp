#include "moe/model/model_size.h"

#include <gtest/gtest.h>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe {
namespace {

/// Elements of the matrices of a Program on one rank.
double matrices(const Model& model) {
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  double elements = 0;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[static_cast<std::size_t>(parameter.value)];
    const bool small = tensor.name.ends_with(".bias") || tensor.name.ends_with(".shift") ||
                       tensor.name.ends_with(".scale");
    if (!small) elements += static_cast<double>(tensor.rows * tensor.columns);
  }
  return elements;
}

TEST(ModelSize, CountsTheMatricesOfEveryKindOfModel) {
  Model model = testing::small_model(DType::f32);
  model.blocks = 5;
  EXPECT_EQ(model_size(model).parameters, matrices(model));
  model.heads = 4;
  model.key_value_heads = 2;
  model.dense_blocks = 2;
  model.moe_every = 1;
  EXPECT_EQ(model_size(model).parameters, matrices(model));
  model.expert = "mixtral";
  model.d_expert = 6;
  model.shared_experts = 3;
  EXPECT_EQ(model_size(model).parameters, matrices(model));
  model.head = Head::tied;
  model.positions = Positions::rotary;
  EXPECT_EQ(model_size(model).parameters, matrices(model));
}

TEST(ModelSize, OfActivationsGrowsWithWhatMakesThem) {
  const Model model = testing::small_model(DType::f32);
  const double before = model_size(model).activations;
  const auto with = [&](auto change) {
    Model other = model;
    change(other);
    return model_size(other).activations;
  };
  EXPECT_EQ(with([](Model& m) { m.global_batch *= 2; }), 2 * before);
  EXPECT_GT(with([](Model& m) { m.expert = "mixtral"; }), before);
  EXPECT_GT(with([](Model& m) { m.shared_experts = 1; }), before);
  EXPECT_GT(with([](Model& m) { m.d_expert = 100; }), before);
  EXPECT_LT(with([](Model& m) { m.key_value_heads = 1; }), before);
}

}  // namespace
}  // namespace moe
