#include "moe/model/model_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/model/gates/gates.h"
#include "moe/model/iteration.h"
#include "moe/source_tree.h"
#include "tests/moe/train/training_case.h"

namespace moe::model_size_test {
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
  Model model = test::small_model(DType::f32);
  model.blocks = 5;
  EXPECT_EQ(model_size(model, 1).parameters, matrices(model));
  model.heads = 4;
  model.key_value_heads = 2;
  model.dense_blocks = 2;
  model.moe_every = 1;
  EXPECT_EQ(model_size(model, 1).parameters, matrices(model));
  model.expert = "mixtral";
  model.d_expert = 6;
  model.shared_experts = 3;
  EXPECT_EQ(model_size(model, 1).parameters, matrices(model));
  model.head = Head::tied;
  model.positions = Positions::rotary;
  EXPECT_EQ(model_size(model, 1).parameters, matrices(model));
}

TEST(ModelSize, CountsTheMatricesOfLatentAttention) {
  Model model = test::small_model(DType::f32);
  model.own["value_width"] = std::int64_t{3};
  EXPECT_EQ(model_size(model, 1).parameters, matrices(model));
  model.positions = Positions::rotary;
  model.head_width = 6;
  model.own["rotary_columns"] = std::int64_t{2};
  model.own["latent_rank"] = std::int64_t{5};
  EXPECT_EQ(model_size(model, 1).parameters, matrices(model));
  model.own["latent_query_rank"] = std::int64_t{7};
  EXPECT_EQ(model_size(model, 1).parameters, matrices(model));
}

/// The published weights have so many without the block for multi-token prediction [its config.json
/// and transformers' class on the meta device].
TEST(ModelSize, OfDeepSeekV3IsThatOfItsPublishedWeights) {
  Model model = load_model(find_input("deepseek-v3", source_tree() / "experiments" / "models"));
  model.global_batch = 1;
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  std::int64_t parameters = 0;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[static_cast<std::size_t>(parameter.value)];
    parameters += tensor.rows * tensor.columns;
  }
  EXPECT_EQ(parameters, 671'026'419'200);
}

TEST(ModelSize, CountsTheMatricesOfEveryGate) {
  Model model = test::small_model(DType::f32);
  model.order = "einsum";
  model.capacity_factor = 1.25;
  for (const Gate& gate : gates()) {
    model.gate = gate.name;
    // Biases of experts and a learned temperature are too few to count.
    const double uncounted = blocks_with_experts(model) * model.experts;
    EXPECT_NEAR(model_size(model, 1).parameters, matrices(model), uncounted) << gate.name;
  }
}

TEST(ModelSize, OfActivationsGrowsWithWhatMakesThem) {
  const Model model = test::small_model(DType::f32);
  const double before = model_size(model, 1).activations;
  const auto with = [&](auto change) {
    Model other = model;
    change(other);
    return model_size(other, 1).activations;
  };
  EXPECT_EQ(with([](Model& m) { m.global_batch *= 2; }), 2 * before);
  EXPECT_GT(with([](Model& m) { m.expert = "mixtral"; }), before);
  EXPECT_GT(with([](Model& m) { m.shared_experts = 1; }), before);
  EXPECT_GT(with([](Model& m) { m.d_expert = 100; }), before);
  EXPECT_LT(with([](Model& m) { m.key_value_heads = 1; }), before);
}

/// Elements of the tensors with such names of a Program on one rank, of all its micro-batches.
double elements(const Model& model, std::string_view named) {
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  double sum = 0;
  for (const Tensor& tensor : program.tensors) {
    const std::string name = tensor.name.substr(0, tensor.name.find('#'));
    if (name.ends_with(named)) sum += static_cast<double>(tensor.rows * tensor.columns);
  }
  return sum;
}

TEST(ModelSize, CountsTheMasksAndSlotsThatAnIterationHas) {
  Model model = test::small_model(DType::f32);
  model.order = "einsum";
  model.capacity_factor = 1.25;
  for (const int micro_batches : {1, 2, 4}) {
    model.micro_batches = micro_batches;
    for (const char* gate : {"softmax", "expert_choice", "soft_moe"}) {
      model.gate = gate;
      const ModelSize size = model_size(model, micro_batches);
      EXPECT_EQ(size.masks, elements(model, ".dispatch_mask") + elements(model, ".combine_mask"))
          << gate << " " << micro_batches;
      EXPECT_EQ(size.parameters, matrices(model)) << gate;
      EXPECT_GT(size.activations, size.masks);
    }
  }
  model.order = "sparse";
  model.gate = "softmax";
  EXPECT_EQ(model_size(model, 1).masks, 0);
}

TEST(ModelSize, OfMasksIsLessTheMorePartsTheBatchHas) {
  Model model = test::small_model(DType::f32);
  model.order = "einsum";
  EXPECT_EQ(model_size(model, 1).masks, 4 * model_size(model, 4).masks);
}

TEST(ModelSize, IsTooLargeWhereATensorsBytesWouldNotBeANumber) {
  Model model = test::small_model(DType::f32);
  EXPECT_FALSE(size_refusal(model, 1));
  model.gate = "soft_moe";
  model.order = "einsum";
  model.global_batch = std::int64_t{1} << 24;
  model.sequence_length = 64;
  model.capacity_groups = 0;
  model.capacity_factor = 1e300;  // as many slots of an expert as tokens: 2^30, for 28 experts
  EXPECT_THAT(size_refusal(model, 1).value(), ::testing::HasSubstr("6.5e+19 of them of masks"));
  EXPECT_FALSE(size_refusal(model, model.global_batch)) << "64 tokens see each other";
}

TEST(ModelSize, HasAMostOfPasses) {
  Model model = test::small_model(DType::f32);
  model.blocks = 1000;
  model.capacity_groups = 0;
  model.global_batch = model.micro_batches = 4096;
  EXPECT_EQ(passes_refusal(model).value(),
            "4096 micro_batches of 1000 blocks are 4096000 passes through a block, each with ops "
            "of its own: expected at most 16384, so micro_batches = 16 or fewer blocks");
  model.micro_batches = 16;
  EXPECT_FALSE(passes_refusal(model));
  model.global_batch = 21;
  model.micro_batches = 21;
  EXPECT_THAT(passes_refusal(model).value(), ::testing::HasSubstr("so micro_batches = 7 or"));
}

}  // namespace
}  // namespace moe::model_size_test
