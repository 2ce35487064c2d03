#include "moe/program/stage_program.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::test::stage_program_test {
namespace {

Model pipelined_model() {
  Model model = small_model(DType::f32);
  model.blocks = 5;
  model.micro_batches = 2;
  return model;
}

TEST(StageProgram, EveryOpIsOfOneStageAndWhatIsPassedOnOfTwo) {
  const Groups groups = make_groups(Layout{1, 2, 1, 1, 3});
  const Program whole = build_iteration(pipelined_model(), groups, 0);
  std::map<int, int> times;
  for (int stage = 0; stage < 3; ++stage) {
    const StageProgram part = stage_program(whole, stage);
    EXPECT_NO_THROW(validate(part.program));
    ASSERT_EQ(part.op_of.size(), part.program.ops.size());
    for (std::size_t i = 0; i < part.op_of.size(); ++i) {
      ++times[part.op_of[i]];
      EXPECT_EQ(part.program.ops[i].name, whole.ops[part.op_of[i]].name);
    }
  }
  ASSERT_EQ(times.size(), whole.ops.size());
  int passed = 0;
  for (const auto& [op, count] : times) {
    const bool passes = std::holds_alternative<PassOn>(whole.ops[op].kind);
    passed += passes ? 1 : 0;
    EXPECT_EQ(count, passes ? 2 : 1) << whole.ops[op].name;
  }
  EXPECT_EQ(passed, 2 * 2 * 2);  // two boundaries, forward and backward, two micro-batches
}

TEST(StageProgram, HoldsTheParametersInputsAndLossesOfItsBlocks) {
  const Groups groups = make_groups(Layout{1, 1, 1, 1, 2});
  const Program whole = build_iteration(pipelined_model(), groups, 0);
  std::multiset<std::string> all, parts;
  for (const Parameter& parameter : whole.parameters) {
    all.insert(whole.tensors[parameter.value].name);
  }
  for (int stage = 0; stage < 2; ++stage) {
    const Program part = stage_program(whole, stage).program;
    for (const Parameter& parameter : part.parameters) {
      parts.insert(part.tensors[parameter.value].name);
      EXPECT_EQ(part.tensors[parameter.gradient].role, Role::gradient);
    }
    ASSERT_EQ(part.tokens.size(), 2u);
    EXPECT_EQ(part.tokens[1] >= 0, stage == 0);
    EXPECT_EQ(part.targets[1] >= 0, stage == 1);
    EXPECT_EQ(part.losses.size(), stage == 1 ? 2u : 0u);
    EXPECT_EQ(part.auxiliary_losses.size(), 2u);  // blocks 1 of 0..2, 3 of 3..4
    EXPECT_GE(part.step, 0);
  }
  EXPECT_EQ(parts, all);
}

TEST(StageProgram, OfOneStageIsTheWhole) {
  const Groups groups = make_groups(Layout{2, 2, 1});
  const Program whole = build_iteration(small_model(DType::f32), groups, 0);
  EXPECT_EQ(to_text(stage_program(whole, 0).program), to_text(whole));
}

TEST(StageOfBlock, SpreadsBlocksEvenlyTheFirstStagesOneMore) {
  std::vector<int> stages;
  for (int block = 0; block < 5; ++block) stages.push_back(stage_of_block(block, 5, 2));
  EXPECT_EQ(stages, (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(stage_of_block(6, 7, 7), 6);
}

}  // namespace
}  // namespace moe::test::stage_program_test
