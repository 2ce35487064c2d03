#include "moe/model/hooks/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "tests/moe/train/training_case.h"

namespace moe::hooks_test {
namespace {

using test::chunked;
using test::Outcome;
using test::small_model;
using test::train_small;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Schedule kSequence{"sequential", {}};

/// Names of the ops of the MoE layer's phase, in order.
std::vector<std::string> names_of(const Model& model, Phase phase) {
  std::vector<std::string> names;
  for (const Op& op : build_iteration(model, make_groups(1, 1), 0).ops) {
    if (op.layer == 1 && op.phase == phase) names.push_back(op.name);
  }
  return names;
}

std::ptrdiff_t place_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  EXPECT_NE(found, names.end()) << name;
  return found - names.begin();
}

TEST(JitterHook, IsDrawnByThePlaceInTheGlobalBatch) {
  Model model = small_model(DType::f64);
  model.hooks["before_moe_start"] = "jitter";
  model.auxiliary_weight = 0;  // that loss is a part's own
  const Outcome whole = train_small(model, kSequence, 1, 2);
  model.micro_batches = 4;
  const Outcome parts = train_small(model, kSequence, 1, 2);
  EXPECT_NEAR(parts.losses[0], whole.losses[0], 1e-12);
  EXPECT_NEAR(parts.losses[1], whole.losses[1], 1e-10);
  model.hooks.clear();
  EXPECT_GT(std::abs(train_small(model, kSequence, 1, 1).losses[0] - whole.losses[0]), 1e-9);
}

TEST(Hooks, StandWhereTheirNamesSay) {
  Model model = small_model(DType::f32);
  for (const std::string_view place : kHookPlaces) {
    model.hooks[std::string(place)] = "round_bf16";
  }
  const auto forward = names_of(model, Phase::forward);
  const auto next = [&](const std::string& name) {
    return forward.at(static_cast<std::size_t>(place_of(forward, name)) + 1);
  };
  EXPECT_EQ(next("before_moe_start.bf16"), "gate logits");
  EXPECT_EQ(next("permute"), "before_dispatch.bf16");
  EXPECT_EQ(next("before_dispatch.bf16"), "all_to_all dispatch");
  EXPECT_EQ(next("all_to_all dispatch"), "after_dispatch.bf16");
  EXPECT_EQ(next("experts down"), "before_combine.bf16");
  EXPECT_EQ(next("before_combine.bf16"), "all_to_all combine");
  EXPECT_EQ(next("all_to_all combine"), "after_combine.bf16");
  EXPECT_EQ(next("combine"), "before_moe_end.bf16");
  const auto backward = names_of(model, Phase::backward);
  EXPECT_LT(place_of(backward, "before_moe_end.bf16 gradient"),
            place_of(backward, "combine gradient"));
  EXPECT_LT(place_of(backward, "gate input gradient"),
            place_of(backward, "before_moe_start.bf16 gradient"));
}

TEST(Hooks, WithoutAnyNothingIsAdded) {
  for (const std::string& name : names_of(small_model(DType::f32), Phase::forward)) {
    EXPECT_EQ(name.find("before_"), std::string::npos) << name;
    EXPECT_EQ(name.find("after_"), std::string::npos) << name;
  }
}

TEST(Hooks, OfRoutedRowsGoAlongInChunks) {
  Model model = small_model(DType::f64);
  for (const std::string_view place : kHookPlaces) {
    model.hooks[std::string(place)] = "round_bf16";
  }
  const Outcome whole = train_small(model, kSequence, 2, 1);
  EXPECT_EQ(train_small(model, chunked(model, 3, 1), 2, 1).losses, whole.losses);
}

TEST(Hooks, RoundingChangesTheLossALittle) {
  const Model model = small_model(DType::f64);
  Model rounded = model;
  rounded.hooks["before_dispatch"] = "round_bf16";
  const double exact = train_small(model, kSequence, 1, 1).losses[0];
  const double loss = train_small(rounded, kSequence, 1, 1).losses[0];
  EXPECT_NE(loss, exact);
  EXPECT_NEAR(loss, exact, 1e-3 * exact);
}

Layer narrowing(LayerBuilder& build, HookPlace, TensorId x) {
  const TensorId y = build.activation("half", build.model.d_model / 2);
  build.op(Add{}, "half", {x, x}, {y});
  return {y, [](TensorId dy) { return dy; }};
}
Layer gathering(LayerBuilder& build, HookPlace, TensorId x) {
  const TensorId y = build.like("same", x);
  build.op(Add{}, "same", {x, x}, {y});
  return {y, [&build](TensorId) { return build.routed("other", Rows::received, 16); }};
}

TEST(Hooks, ThatChangeShapesAreRefused) {
  const Model model = small_model(DType::f32);
  const Groups groups = make_groups(1, 1);
  LayerBuilder build(model, groups, 0);
  build.block = 1;
  const TensorId x = build.activation("x", model.d_model);
  EXPECT_THAT(
      [&] {
        hooked(build, HookPlace::before_moe_start, {"narrowing", HookRows::any, "", narrowing}, x);
      },
      ThrowsMessage<std::invalid_argument>(
          HasSubstr("hook \"narrowing\" at before_moe_start: got block1.x (224 x 16) and left "
                    "block1.half (224 x 8): expected the same shape and dtype")));
  const TensorId sent = build.routed("sent", Rows::sent, model.d_model);
  const Layer layer =
      hooked(build, HookPlace::before_dispatch, {"gathering", HookRows::any, "", gathering}, sent);
  EXPECT_THAT([&] { layer.backward(sent); },
              ThrowsMessage<std::invalid_argument>(
                  HasSubstr("got block1.sent (sent rows x 16) and left block1.other (received")));
}

TEST(Hooks, AndTheirPlacesAreFoundByNameAndListedWhereThereIsNone) {
  EXPECT_EQ(hook_named("jitter").name, "jitter");
  EXPECT_EQ(hook_place_named("after_combine"), HookPlace::after_combine);
  EXPECT_THROW(hook_named("noise"), InputError);
  EXPECT_THAT([] { hook_place_named("before_gate"); },
              ThrowsMessage<InputError>(HasSubstr("there are before_moe_start, before_dispatch")));
}

}  // namespace
}  // namespace moe::hooks_test
