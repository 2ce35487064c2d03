#include "moe/model/experts/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::experts_test {
namespace {

TEST(Experts, AreFoundByNameAndListedWhereThereIsNone) {
  EXPECT_EQ(expert_named("mixtral").name, "mixtral");
  try {
    expert_named("mixture");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "no expert network \"mixture\"; there are gpt, mixtral, gpt_oss");
  }
}

TEST(Experts, HaveAsManyMatricesAsTheySay) {
  for (const Expert& expert : experts()) {
    Model model = test::small_model(DType::f32);
    model.expert = expert.name;
    model.dense_blocks = 1;
    model.moe_every = 1;
    model.shared_experts = 1;
    const Program program = build_iteration(model, make_groups(1, 1), 0);
    for (const std::string place : {"block0.ffn.", "block1.experts.", "block1.shared."}) {
      int matrices = 0;
      for (const Parameter& parameter : program.parameters) {
        const Tensor& tensor = program.tensors[static_cast<std::size_t>(parameter.value)];
        matrices += tensor.name.starts_with(place) && tensor.name.ends_with(".weight") ? 1 : 0;
      }
      EXPECT_EQ(matrices, expert.facts.products) << place << " of " << expert.name;
    }
  }
}

/// The input gradients, which the exchange of gradients waits for, come first.
TEST(Experts, LeaveTheirWeightGradientsToTheEnd) {
  for (const Expert& expert : experts()) {
    Model model = test::small_model(DType::f32);
    model.expert = expert.name;
    std::vector<std::string> names;
    for (const Op& op : build_iteration(model, make_groups(1, 1), 0).ops) {
      if (op.phase == Phase::backward && op.layer == 1) names.push_back(op.name);
    }
    const auto home = std::find(names.begin(), names.end(), "all_to_all gradient combine");
    ASSERT_NE(home, names.end());
    int before = 0, after = 0;
    for (auto name = names.begin(); name != names.end(); ++name) {
      if (!name->starts_with("experts ")) continue;
      (name < home ? before : after) += 1;
      EXPECT_EQ(name->ends_with(" dW"), name > home) << *name;
    }
    EXPECT_GT(before, 0);
    EXPECT_EQ(after, expert.facts.products);
  }
}

}  // namespace
}  // namespace moe::experts_test
