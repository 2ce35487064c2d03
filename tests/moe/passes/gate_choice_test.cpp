#include "moe/passes/gate_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "moe/model/gates/gates.h"
#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::gate_choice_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Model model_with(const Gate& gate) {
  Model model = test::small_model(DType::f64);
  model.gate = gate.name;
  model.capacity_factor = 1;
  if (gate.facts.chooser == Chooser::nobody) model.order = "einsum";
  return model;
}

std::vector<std::size_t> choices_of(const Program& program) {
  std::vector<std::size_t> choices;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (chooses_experts(program.ops[i])) choices.push_back(i);
  }
  return choices;
}

TEST(GateChoice, IsOneOpOfEveryGateButThoseWhoseSlotsMixTokens) {
  for (const Gate& gate : gates()) {
    const Program program = build_iteration(model_with(gate), make_groups(4, 4), 0);
    const bool mixes = gate.facts.chooser == Chooser::nobody;
    EXPECT_EQ(choices_of(program).size(), mixes ? 0 : 1) << gate.name;
  }
}

TEST(GateChoice, SaysWhyItCannotBeCut) {
  const auto refusal = [](OpKind kind) -> std::string {
    const auto found = refusal_to_cut({std::move(kind), {}, {}, ""});
    return found ? found->what() : "";
  };
  EXPECT_THAT(refusal(SelectExperts{.choices = 2, .capacity = 3, .gate = "sigmoid"}),
              HasSubstr("gate \"sigmoid\" with choices = 2"));
  EXPECT_THAT(refusal(SelectExperts{.choices = 2}), IsEmpty()) << "dropless";
  EXPECT_THAT(refusal(ChooseTokens{}), HasSubstr("looks at whole capacity groups"));
  EXPECT_THAT(refusal(Linear{}), IsEmpty());
}

TEST(GateChoice, DealtOutIsUsedByAllThatFollowInsteadOfWhatTheGateLeft) {
  for (const Gate& gate : gates()) {
    if (gate.facts.chooser == Chooser::nobody) continue;
    const Program whole = build_iteration(model_with(gate), make_groups(4, 4), 0);
    Program dealt = whole;
    const std::size_t choice = choices_of(whole).front();
    split_selection(dealt, choice);
    validate(dealt);
    ASSERT_EQ(dealt.ops.size(), whole.ops.size() + 1);
    const Op& gate_op = dealt.ops[choice];
    const Op& split = dealt.ops[choice + 1];
    EXPECT_EQ(kind_name(split), "split_selection");
    EXPECT_EQ(split.layer, gate_op.layer);
    EXPECT_EQ(split.stream, gate_op.stream);
    const auto readers = [&](const Use& written) {
      std::vector<std::size_t> found;
      for (std::size_t i = 0; i < dealt.ops.size(); ++i) {
        for (const Use& use : dealt.ops[i].reads) {
          if (use.tensor == written.tensor) found.push_back(i);
        }
      }
      return found;
    };
    EXPECT_THAT(readers(gate_op.writes[2]), ::testing::ElementsAre(choice + 1)) << "slots";
    EXPECT_THAT(readers(gate_op.writes[3]), IsEmpty()) << "offsets";
    EXPECT_THAT(readers(gate_op.writes[4]), IsEmpty()) << "demand";
    for (const Use& use : split.writes) EXPECT_FALSE(readers(use).empty()) << gate.name;
    for (std::size_t i = 0; i < split.writes.size(); ++i) {
      const auto& left = whole.tensors[static_cast<std::size_t>(gate_op.writes[2 + i].tensor)];
      const auto& own = dealt.tensors[static_cast<std::size_t>(split.writes[i].tensor)];
      EXPECT_EQ(own.rows, left.rows);
      EXPECT_EQ(own.columns, left.columns);
      EXPECT_EQ(own.name, left.name + ".split");
    }
  }
}

}  // namespace
}  // namespace moe::gate_choice_test
