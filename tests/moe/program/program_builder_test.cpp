#include "moe/program/program_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace moe::program_builder_test {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

struct Built {
  ProgramBuilder build{DType::f64};
  const Tensor& operator[](TensorId id) const {
    return build.program.tensors[static_cast<std::size_t>(id)];
  }
};

TEST(ProgramBuilder, AParameterBringsAGradientOfItsShapeAndKeepsItsPlaceInTheModel) {
  Built p;
  p.build.input("tokens", 3);
  ProgramBuilder::ParameterShape shape{"up", 6, 4};
  shape.initial = Initial::normal;
  shape.standard_deviation = 0.02;
  shape.shard = Shard{2, 3, 0, 3, 4, 8};
  shape.layer = 2;
  shape.replicas = GroupKind::expert_data;
  const TensorId up = p.build.parameter(shape), gradient = p.build.gradient_of(up);
  EXPECT_EQ(p[up].name, "up");
  EXPECT_EQ(p[up].role, Role::parameter);
  EXPECT_EQ(p[gradient].name, "d_up");
  EXPECT_EQ(p[gradient].role, Role::gradient);
  for (const TensorId id : {up, gradient}) {
    EXPECT_EQ(p[id].rows, 6);
    EXPECT_EQ(p[id].columns, 4);
    EXPECT_EQ(p[id].dtype, DType::f64);
  }
  ASSERT_EQ(p.build.program.parameters.size(), 1u);
  const Parameter& parameter = p.build.program.parameters[0];
  EXPECT_EQ(parameter.value, up);
  // Row 4 of 6 is row 1 of the second block held, the fourth of the model; columns from 4 of 8.
  EXPECT_EQ(whole_element(parameter.shard, 4, 4 * 4 + 1), ((2 + 1) * 3 + 1) * 8 + 4 + 1);
  EXPECT_EQ(parameter.initial, Initial::normal);
  EXPECT_EQ(parameter.standard_deviation, 0.02);
  EXPECT_EQ(parameter.layer, 2);
  EXPECT_EQ(parameter.replicas, GroupKind::expert_data);
}

TEST(ProgramBuilder, FindsTheGradientOfEachParameterAndOfNothingElse) {
  Built p;
  const TensorId a = p.build.parameter({"a"}), b = p.build.parameter({"b"});
  EXPECT_EQ(p[p.build.gradient_of(a)].name, "d_a");
  EXPECT_EQ(p[p.build.gradient_of(b)].name, "d_b");
  const TensorId x = p.build.activation("x", 1, 1);
  EXPECT_THAT([&] { p.build.gradient_of(x); },
              ThrowsMessage<std::logic_error>(StrEq("tensor 4 is not a parameter")));
  EXPECT_THROW(p.build.gradient_of(p.build.gradient_of(a)), std::logic_error);
}

TEST(ProgramBuilder, OptimizerStateHasTheShapeOfItsParameter) {
  Built p;
  const TensorId weight = p.build.parameter({"w", 3, 5});
  const TensorId state = p.build.state_like(weight, "moment");
  EXPECT_EQ(p[state].name, "w.moment");
  EXPECT_EQ(p[state].role, Role::optimizer_state);
  EXPECT_EQ(p[state].rows, 3);
  EXPECT_EQ(p[state].columns, 5);
}

TEST(ProgramBuilder, IdsAreIntegersAndValuesOfTheModelsType) {
  Built p;
  EXPECT_EQ(p[p.build.input("tokens", 7)].dtype, DType::i32);
  EXPECT_EQ(p[p.build.result("loss")].dtype, DType::f64);
  EXPECT_EQ(p[p.build.activation("x", 7, 2)].dtype, DType::f64);
  EXPECT_EQ(p[p.build.integers("slot", 7, 2)].dtype, DType::i32);
  const Tensor& sent = p[p.build.routed("sent", Rows::sent, 9, 2, 4)];
  EXPECT_EQ(sent.dtype, DType::f64);
  EXPECT_EQ(sent.rows_are, Rows::sent);
  EXPECT_EQ(sent.rows, 9);
  EXPECT_EQ(sent.layer, 4);
}

TEST(ProgramBuilder, KeepsWhatIsAddedUpWiderThanItStoresActivations) {
  ProgramBuilder build(DType::bf16);
  const auto type = [&](TensorId tensor) { return build.program.tensors.at(tensor).dtype; };
  const TensorId weight = build.parameter({"w", 3, 5});
  ProgramBuilder::ParameterShape wide{"router", 3, 5};
  wide.wide = true;
  const TensorId router = build.parameter(wide);
  EXPECT_EQ(type(weight), DType::bf16);
  EXPECT_EQ(type(router), DType::f32);
  EXPECT_EQ(type(build.gradient_of(weight)), DType::f32);
  EXPECT_EQ(type(build.state_like(weight, "moment")), DType::f32);
  EXPECT_EQ(type(build.activation("x", 7, 2)), DType::bf16);
  EXPECT_EQ(type(build.routed("sent", Rows::sent, 9, 2, 4)), DType::bf16);
  EXPECT_EQ(type(build.wide("statistics", 7, 2)), DType::f32);
  EXPECT_EQ(type(build.result("loss")), DType::f32);
}

TEST(ProgramBuilder, OpsUseAllOfTheirTensorsOnTheComputeStream) {
  Built p;
  const TensorId x = p.build.activation("x", 8, 2), y = p.build.activation("y", 8, 2);
  p.build.op(Add{}, "residual", {x, y}, {y}, 1, Phase::backward);
  const Op& op = p.build.program.ops.at(0);
  EXPECT_EQ(op.reads.size(), 2u);
  EXPECT_EQ(op.reads[1].tensor, y);
  EXPECT_TRUE(is_whole(op.reads[0].slice) && is_whole(op.writes[0].slice) && is_whole(op.chunk));
  EXPECT_EQ(op.stream, Stream::compute);
  EXPECT_EQ(op.phase, Phase::backward);
  EXPECT_EQ(op.layer, 1);
}

}  // namespace
}  // namespace moe::program_builder_test
