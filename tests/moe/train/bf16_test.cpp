// Training in bf16: what is stored in it, what is not, and that it learns as in float.
#include "moe/kernels/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "moe/memory/memory_plan.h"
#include "moe/model/gates/gates.h"
#include "moe/model/iteration.h"
#include "moe/program/work.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::train_bf16_test {
namespace {

const Schedule kSequential{"sequential", {}};

TEST(TrainingInBf16, LearnsAsInFloatIn200Steps) {
  Model model = small_model(DType::f32);
  model.learning_rate = 3e-4;
  const Outcome wide = train_small(model, kSequential, 1, 200);
  model.dtype = DType::bf16;
  const Outcome narrow = train_small(model, kSequential, 1, 200);
  EXPECT_LT(wide.losses.back(), 0.9 * wide.losses.front()) << "it should learn";
  // Steps differ by batch: the mean over the last twenty.
  double of_wide = 0, of_narrow = 0;
  for (std::size_t i = 180; i < 200; ++i) {
    of_wide += wide.losses[i] / 20;
    of_narrow += narrow.losses[i] / 20;
  }
  EXPECT_NEAR(of_narrow, of_wide, 0.01 * of_wide);
}

TEST(TrainingInBf16, KeepsParametersAsTheirMastersRounded) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::sgd}) {
    Model model = small_model(DType::bf16);
    model.optimizer = optimizer;
    const Outcome outcome = train_small(model, kSequential, 2, 3);
    int masters = 0;
    for (const auto& [name, values] : outcome.state) {
      const std::string suffix = ".remainder";
      if (!name.ends_with(suffix)) continue;
      ++masters;
      const auto& stored = outcome.state.at(name.substr(0, name.size() - suffix.size()));
      bool lost = false;
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(stored[i], Bf16(static_cast<float>(values[i]))) << name;
        lost = lost || stored[i] != values[i];
      }
      EXPECT_TRUE(lost || name.find(".bias") != std::string::npos) << name;
    }
    EXPECT_GT(masters, 10);
  }
}

TEST(TrainingInBf16, StoresActivationsInHalfTheMemory) {
  Model model = small_model(DType::f32);
  const auto bytes_by_role = [&] {
    std::map<Role, std::int64_t> bytes;
    for (const Tensor& tensor : build_iteration(model, make_groups(1, 1), 0).tensors) {
      if (tensor.rows_are != Rows::fixed || tensor.dtype == DType::i32) continue;
      bytes[tensor.role] += tensor.rows * tensor.columns * bytes_of(tensor.dtype);
    }
    return bytes;
  };
  auto wide = bytes_by_role();
  model.dtype = DType::bf16;
  auto narrow = bytes_by_role();
  EXPECT_EQ(2 * narrow[Role::parameter], wide[Role::parameter]);
  EXPECT_EQ(narrow[Role::gradient], wide[Role::gradient]);
  EXPECT_EQ(narrow[Role::optimizer_state], wide[Role::optimizer_state] + wide[Role::parameter] / 2)
      << "two moments, and what masters have beyond parameters";
  EXPECT_LT(static_cast<double>(narrow[Role::activation]),
            0.7 * static_cast<double>(wide[Role::activation]));
}

TEST(TrainingInBf16, UpdatesMoveThe28BytesThatAParameterHasInF32) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Groups groups = make_groups(1, 1);
    const Program program = build_iteration(small_model(dtype), groups, 0);
    int updates = 0;
    for (const Op& op : program.ops) {
      if (!std::holds_alternative<AdamStep>(op.kind)) continue;
      const Tensor& value = program.tensors[op.writes[0].tensor];
      if (value.dtype != dtype) continue;  // the gate's, which are f32 in both
      ++updates;
      constexpr std::int64_t kStepBytes = 4;
      EXPECT_EQ(work_of(program, op, {}, groups, 0).memory_bytes,
                28 * value.rows * value.columns + kStepBytes)
          << op.name;
    }
    EXPECT_GT(updates, 10);
  }
}

/// The gates' own tests hold their numbers; this holds their types together.
TEST(TrainingInBf16, HasEveryGateAndOrder) {
  for (const Gate& gate : gates()) {
    Model model = small_model(DType::f32);
    model.gate = gate.name;
    model.capacity_factor = 1.0;
    if (gate.facts.chooser == Chooser::nobody) model.order = "einsum";
    if (!gate.facts.balances) model.auxiliary_weight = 0;
    model.z_loss_weight = gate.facts.scores_tokens ? 1e-3 : 0;
    const double wide = train_small(model, kSequential, 2, 2).losses.back();
    model.dtype = DType::bf16;
    EXPECT_NEAR(train_small(model, kSequential, 2, 2).losses.back(), wide, 0.01 * wide)
        << gate.name;
    model.order = "einsum";
    EXPECT_NEAR(train_small(model, kSequential, 2, 2).losses.back(), wide, 0.01 * wide)
        << gate.name << ", einsum";
  }
}

}  // namespace
}  // namespace moe::test::train_bf16_test
