#include "moe/model/update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>
#include <vector>

#include "moe/model/iteration.h"
#include "moe/program/stage_program.h"
#include "tests/moe/train/training_case.h"

namespace moe::model_update_test {
namespace {

using test::Outcome;
using test::small_model;
using test::train_small;

Model clipped_model(DType dtype) {
  Model model = small_model(dtype);
  model.moe_every = 1;
  model.clip_norm = 0.25;
  return model;
}

/// The norm of the gradients of the first step, joined to the whole model's.
double norm_of(const Outcome& outcome) {
  double squares = 0;
  for (const auto& [name, values] : outcome.gradients) {
    for (const double value : values) squares += value * value;
  }
  return std::sqrt(squares);
}

TEST(Update, NormCountsEveryGradientOnceInAnyLayout) {
  const Model model = clipped_model(DType::f64);
  for (const Layout& layout : {Layout{1, 1, 1}, Layout{1, 4, 1}, Layout{2, 2, 1}, Layout{4, 1, 1},
                               Layout{1, 1, 2, 2}, Layout{1, 2, 2, 2}, Layout{2, 2, 1, 2},
                               Layout{1, 2, 1, 1, 2}, Layout{1, 1, 2, 2, 2}, Layout{1, 7, 1}}) {
    const Outcome outcome = train_small(model, {}, layout, 1);
    EXPECT_NEAR(outcome.gradient_norms.at(0), norm_of(outcome), 1e-12 * norm_of(outcome))
        << to_text(layout);
  }
}

TEST(Update, BiasesThatAGateAdjustsAreNoPartOfTheNorm) {
  Model model = clipped_model(DType::f64);
  model.gate = "bias_adjusted";
  Outcome outcome = train_small(model, {}, 2, 1);
  std::erase_if(outcome.gradients,
                [](const auto& one) { return one.first.ends_with("gate.expert_bias"); });
  EXPECT_NEAR(outcome.gradient_norms.at(0), norm_of(outcome), 1e-12 * norm_of(outcome));
}

TEST(Update, ClippedToAQuarterOfTheNormMovesParametersAQuarterAsFar) {
  Model model = small_model(DType::f64);
  model.optimizer = Optimizer::sgd;
  model.momentum = 0;
  model.learning_rate = 1;
  model.clip_norm = 1e300;  // measured, and not clipped
  const Outcome whole = train_small(model, {}, 2, 1);
  model.clip_norm = whole.gradient_norms.at(0) / 4;
  const Outcome quarter = train_small(model, {}, 2, 1);
  model.learning_rate = 1e-300;
  const Outcome still = train_small(model, {}, 2, 1);
  for (const auto& [name, values] : still.state) {
    if (name.starts_with("d_") || name.ends_with(".momentum")) continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double moved = whole.state.at(name)[i] - values[i];
      EXPECT_NEAR(quarter.state.at(name)[i] - values[i], moved / 4, 1e-4 * std::abs(moved) + 1e-15)
          << name;
    }
  }
}

TEST(Update, StepsComeInTheOrderInWhichGradientsAreReduced) {
  Model model = small_model(DType::f32);
  model.blocks = 4;
  for (const Layout& layout : {Layout{2, 2, 1}, Layout{1, 2, 1, 1, 2}}) {
    const Program program = build_iteration(model, make_groups(layout), 0);
    for (const StageProgram& stage : stage_programs(program)) {
      std::map<TensorId, int> reduced;  // gradients by the block that is reduced
      std::vector<int> blocks, updated;
      for (const Op& op : stage.program.ops) {
        if (reduces_gradients(op)) {
          if (blocks.empty() || blocks.back() != op.layer) blocks.push_back(op.layer);
          for (const Use& use : op.writes) reduced[use.tensor] = op.layer;
        }
        if (!std::holds_alternative<AdamStep>(op.kind)) continue;
        const auto found = reduced.find(op.reads.front().tensor);
        if (found == reduced.end()) continue;
        if (updated.empty() || updated.back() != found->second) updated.push_back(found->second);
      }
      EXPECT_GT(blocks.size(), 2U);
      EXPECT_EQ(updated, blocks) << to_text(layout);
    }
  }
}

TEST(Update, ClippingDoesNotChangeWhatIsBelowTheLimit) {
  Model model = small_model(DType::f32);
  const Outcome plain = train_small(model, {}, 4, 4);
  model.clip_norm = 1e6;
  const Outcome clipped = train_small(model, {}, 4, 4);
  EXPECT_EQ(plain.losses, clipped.losses);
}

TEST(Update, OnlyMatricesDecay) {
  Model model = small_model(DType::f32);
  model.optimizer = Optimizer::adamw;
  const Program program = build_iteration(model, make_groups(2, 2), 0);
  for (const Parameter& parameter : program.parameters) {
    const std::string& name = program.tensors[parameter.value].name;
    const bool is_vector =
        name.ends_with(".bias") || name.ends_with(".scale") || name.ends_with(".shift");
    EXPECT_EQ(decays(parameter), !is_vector) << name;
  }
  int decaying = 0;
  for (const Op& op : program.ops) {
    if (const auto* step = std::get_if<AdamStep>(&op.kind)) {
      decaying += step->weight_decay == 0.1 ? 1 : 0;
    }
  }
  EXPECT_GT(decaying, 4);
}

TEST(Update, WaitsForTheNormOfAllStagesBeforeTheFirstParameterChanges) {
  const Model model = clipped_model(DType::f32);
  const Program program = build_iteration(model, make_groups({1, 2, 1, 1, 2}), 0);
  const auto reduces = std::find_if(program.ops.begin(), program.ops.end(), [](const Op& op) {
    return std::holds_alternative<ReduceNorm>(op.kind);
  });
  ASSERT_NE(reduces, program.ops.end());
  const auto at = static_cast<int>(reduces - program.ops.begin());
  EXPECT_EQ(reduces->reads.size(), 2u) << "a sum of each stage";
  for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
    if (std::holds_alternative<AdamStep>(program.ops[i].kind)) {
      EXPECT_GT(i, at);
    }
  }
  for (int stage = 0; stage < 2; ++stage) {
    const Program own = stage_program(program, stage).program;
    int all = 0;
    for (const Op& op : own.ops) {
      if (!std::holds_alternative<ReduceNorm>(op.kind)) continue;
      ++all;
      EXPECT_EQ(op.reads.size(), 1u) << "its own";
    }
    EXPECT_EQ(all, 1);
    EXPECT_EQ(own.gradient_norms.size(), 1u);
    EXPECT_EQ(stage_program(forward_only(program), stage).program.gradient_norms.size(), 1u);
  }
}

}  // namespace
}  // namespace moe::model_update_test
