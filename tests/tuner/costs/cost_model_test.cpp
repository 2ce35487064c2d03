#include "tuner/costs/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "moe/errors.h"
#include "moe/program/row_handling.h"
#include "tests/tuner/small_program.h"

namespace tuner::cost_model_test {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// linear [8,4] x [4,6]; gelu of it; a product of two local experts on rows of layer 0, on one
/// rank.
struct Ops {
  moe::ProgramBuilder build;
  moe::Groups groups = moe::make_groups(1, 1);
  moe::Binding binding;

  explicit Ops(std::int64_t rows_of_expert_0 = 7, moe::DType dtype = moe::DType::f32)
      : build(dtype) {
    using namespace moe;
    const TensorId x = build.activation("x", 8, 4), w = build.parameter({"w", 4, 6}),
                   y = build.activation("y", 8, 6), z = build.activation("z", 8, 6);
    const TensorId received = build.routed("received", Rows::received, 0, 4, 0),
                   experts = build.parameter({"experts", 8, 3}),
                   produced = build.routed("produced", Rows::received, 0, 3, 0);
    build.op(Linear{}, "linear", {x, w}, {y}, -1, Phase::forward);
    build.op(Gelu{}, "gelu", {y}, {z}, -1, Phase::forward);
    build.op(ExpertLinear{2}, "experts", {received, experts}, {produced}, 0, Phase::forward);
    binding.layouts.emplace(moe::RoutedLayer{0}, make_row_layout({0, 2, {{rows_of_expert_0, 0}}},
                                                                 groups, 0, {{0, 1}, {1, 1}}));
  }
  const moe::Op& op(std::size_t i) const { return build.program.ops[i]; }
  double seconds_of(const CostModel& costs, std::size_t i) const {
    return seconds(costs, build.program, op(i), binding, groups, 0);
  }
};

TEST(CostModel, ShapesHaveRowsOnlyWhereRoutingDoesNotTellThem) {
  const Ops ops;
  EXPECT_EQ(shape_key(ops.build.program, ops.op(0)), "linear[8 rows, 4x6]");
  EXPECT_EQ(shape_key(ops.build.program, ops.op(2)), "expert_linear[4x3]");
}

TEST(CostModel, LooksAFitUpFromTheSpecialToTheGeneral) {
  const Ops ops;
  CostModel costs;
  const auto key = [&](std::size_t i) { return fit_key(costs, ops.build.program, ops.op(i)); };
  costs.fits["gemm"] = costs.fits["memory"] = {};
  EXPECT_EQ(key(0), "gemm");
  EXPECT_EQ(key(1), "memory");
  EXPECT_EQ(key(2), "gemm");
  costs.fits["linear"] = costs.fits["gelu"] = {};
  EXPECT_EQ(key(0), "linear");
  EXPECT_EQ(key(1), "gelu");
  EXPECT_EQ(key(2), "gemm") << "an expert's product is no linear layer";
  costs.fits["linear[9 rows, 4x6]"] = {};
  EXPECT_EQ(key(0), "linear") << "another shape";
  costs.fits["linear[8 rows, 4x6]"] = {};
  EXPECT_EQ(key(0), "linear[8 rows, 4x6]");
}

TEST(CostModel, SaysHowToMeasureWhatHasNoFit) {
  const Ops ops;
  CostModel costs;
  costs.device = "cuda";
  costs.fits["memory"] = {};
  EXPECT_THAT([&] { fit_key(costs, ops.build.program, ops.op(0)); },
              ThrowsMessage<moe::Refusal>(AllOf(HasSubstr("no fit for linear on cuda"),
                                                HasSubstr("\"gemm\" with moe-bench gemm"),
                                                HasSubstr("[fit.gemm]"))));
  costs.fits.clear();
  costs.fits["gemm"] = {};
  EXPECT_THAT([&] { fit_key(costs, ops.build.program, ops.op(1)); },
              ThrowsMessage<moe::Refusal>(
                  AllOf(HasSubstr("no fit for gelu"), HasSubstr("with moe-bench copies"))));
}

TEST(CostModel, OpsInBf16AndF64AreNeverCostedByFitsOfOtherTypes) {
  for (const moe::DType type : kTypesWithFits) {
    const std::string name(moe::name_of(type)), suffix = "_" + name;
    const Ops ops(7, type);
    CostModel costs;
    const auto key = [&](std::size_t i) { return fit_key(costs, ops.build.program, ops.op(i)); };
    for (const char* other : {"gemm", "linear", "linear[8 rows, 4x6]", "memory", "gelu"}) {
      costs.fits[other] = {};
    }
    EXPECT_THAT([&] { key(0); }, ThrowsMessage<moe::Refusal>(
                                     AllOf(HasSubstr("no fit for linear in " + name + " on cpu"),
                                           HasSubstr("moe-bench gemm --dtype " + name),
                                           HasSubstr("[fit.gemm" + suffix + "]"))));
    EXPECT_EQ(key(1), "memory") << "bytes are bytes; gelu's fit is of another type";
    costs.fits["gemm" + suffix] = costs.fits["gelu" + suffix] = {};
    EXPECT_EQ(key(0), "gemm" + suffix);
    EXPECT_EQ(key(1), "gelu" + suffix);
    costs.fits["linear" + suffix] = {};
    EXPECT_EQ(key(0), "linear" + suffix);
    costs.fits[shape_key(ops.build.program, ops.op(0))] = {};
    EXPECT_EQ(key(0), "linear" + suffix + "[8 rows, 4x6]");
    EXPECT_EQ(key(2), "gemm" + suffix);
  }
}

TEST(CostModel, FitsAreNamedAfterTheirType) {
  EXPECT_EQ(fit_of_type("linear", "f32"), "linear");
  EXPECT_EQ(fit_of_type("linear", "f64"), "linear_f64");
  EXPECT_EQ(type_of_fit("linear_f64"), "f64");
  EXPECT_EQ(type_of_fit("linear_bf16"), "bf16");
  EXPECT_EQ(type_of_fit("linear"), "f32");
}

TEST(CostModel, HalfAsManyBytesInBf16CostHalfAsMuch) {
  const Ops wide, narrow(7, moe::DType::bf16);
  CostModel costs;
  costs.fits["memory"] = line(0, 0.01);
  EXPECT_DOUBLE_EQ(narrow.seconds_of(costs, 1), wide.seconds_of(costs, 1) / 2);
}

TEST(CostModel, ProductsCostTheirFlopsAndAllElseItsBytes) {
  const Ops ops;
  CostModel costs;
  costs.fits["gemm"] = line(1, 0.001);
  costs.fits["memory"] = line(2, 0.01);
  EXPECT_DOUBLE_EQ(ops.seconds_of(costs, 0), 1 + 0.001 * 2 * 8 * 4 * 6);
  EXPECT_DOUBLE_EQ(ops.seconds_of(costs, 1), 2 + 0.01 * 2 * 8 * 6 * 4) << "read and written";
  EXPECT_DOUBLE_EQ(ops.seconds_of(costs, 2), 2 * 1 + 0.001 * 2 * 7 * 4 * 3) << "a start an expert";
}

TEST(CostModel, ExpertsWithoutRowsCostTheirStarts) {
  const Ops ops(0);
  CostModel costs;
  costs.fits["gemm"] = line(1, 0.001);
  EXPECT_DOUBLE_EQ(ops.seconds_of(costs, 2), 2);
}

TEST(CostModel, ACollectiveHasAFitPerLink) {
  const auto layer = small_layer();
  const moe::Op& dispatch = layer.program.ops[3];
  CostModel costs;
  costs.fits["all_to_all/inter_node"] = line(3, 0);
  costs.fits["all_to_all"] = line(9, 0);
  ASSERT_NE(collective_fit(costs, dispatch, "inter_node"), nullptr);
  EXPECT_EQ(collective_fit(costs, dispatch, "inter_node")->second.alpha_s, 3);
  EXPECT_EQ(collective_fit(costs, dispatch, "intra_node"), nullptr);
}

TEST(CostModel, AnyExchangeOfRowsCostsWhatAnAllToAllDoesUntilItsOwnKindIsMeasured) {
  moe::Op leg = small_layer().program.ops[3];
  leg.kind = moe::ExchangeAcrossNodes{};
  moe::Op gather = leg, reduce = leg, send = leg;
  gather.kind = moe::GatherRows{};
  reduce.kind = moe::AllReduce{};
  send.kind = moe::SendExperts{};
  CostModel costs;
  costs.fits["all_to_all/inter_node"] = line(3, 0);
  EXPECT_EQ(collective_fit(costs, leg, "inter_node")->first, "all_to_all/inter_node");
  EXPECT_EQ(collective_fit(costs, leg, "intra_node"), nullptr);
  EXPECT_EQ(collective_fit(costs, gather, "inter_node")->first, "all_to_all/inter_node");
  EXPECT_EQ(collective_fit(costs, send, "inter_node")->first, "all_to_all/inter_node")
      << "rows of experts";
  EXPECT_EQ(collective_fit(costs, reduce, "inter_node"), nullptr);
  costs.fits["exchange_across_nodes/inter_node"] = line(2, 0);
  EXPECT_EQ(collective_fit(costs, leg, "inter_node")->second.alpha_s, 2);
}

TEST(CostModel, WhatRanksThatShareExpertsExchangeIsCostedLikeTheCollectiveThatItIs) {
  moe::Op gather = small_layer().program.ops[3], scatter = gather, dispatch = gather;
  gather.kind = moe::GatherRows{};
  scatter.kind = moe::ScatterRows{};
  const auto key_of = [](const CostModel& costs, const moe::Op& op) -> std::string {
    const CollectiveFit* fit = collective_fit(costs, op, "intra_node");
    return fit == nullptr ? "none" : fit->first;
  };
  CostModel costs;
  EXPECT_EQ(key_of(costs, gather), "none");
  costs.fits["all_gather/intra_node"] = costs.fits["reduce_scatter/intra_node"] = line(1, 0);
  EXPECT_EQ(key_of(costs, gather), "all_gather/intra_node");
  EXPECT_EQ(key_of(costs, scatter), "reduce_scatter/intra_node");
  EXPECT_EQ(key_of(costs, dispatch), "none");
  costs.fits["all_to_all/intra_node"] = line(1, 0);
  EXPECT_EQ(key_of(costs, gather), "all_to_all/intra_node");
  EXPECT_EQ(key_of(costs, scatter), "all_to_all/intra_node");
  costs.fits["gather_rows/intra_node"] = costs.fits["scatter_rows/intra_node"] = line(1, 0);
  EXPECT_EQ(key_of(costs, gather), "gather_rows/intra_node");
  EXPECT_EQ(key_of(costs, scatter), "scatter_rows/intra_node");
}

TEST(CostModel, ExpertsOnRingsCostWhatABroadcastOrAReduceDoes) {
  moe::PlacedExperts rings;
  rings.placement.route = moe::ExpertRoute::ring;
  moe::Op send = small_layer().program.ops[3], home = send, unicast = send;
  send.kind = moe::SendExperts{rings};
  home.kind = moe::ReturnGradients{rings};
  unicast.kind = moe::SendExperts{};
  EXPECT_EQ(collective_name(send), "broadcast");
  EXPECT_EQ(collective_name(home), "reduce");
  EXPECT_EQ(collective_name(unicast), "send_experts");
  CostModel costs;
  const auto key_of = [&](const moe::Op& op) {
    const CollectiveFit* fit = collective_fit(costs, op, "inter_node");
    return fit == nullptr ? std::string("none") : fit->first;
  };
  EXPECT_EQ(key_of(send), "none");
  costs.fits["all_to_all/inter_node"] = line(1, 0);
  EXPECT_EQ(key_of(send), "all_to_all/inter_node");
  EXPECT_EQ(key_of(home), "all_to_all/inter_node");
  EXPECT_FALSE(is_of_chains(*collective_fit(costs, home, "inter_node")));
  costs.fits["broadcast/inter_node"] = costs.fits["send_experts/inter_node"] = line(2, 0);
  costs.fits["send_experts/inter_node"].samples = 5;  // of what is sent to each rank
  EXPECT_EQ(key_of(send), "broadcast/inter_node");
  EXPECT_EQ(key_of(home), "broadcast/inter_node") << "as many bytes, the other way";
  EXPECT_TRUE(is_of_chains(*collective_fit(costs, home, "inter_node")));
  EXPECT_EQ(key_of(unicast), "send_experts/inter_node");
  costs.fits["reduce/inter_node"] = line(3, 0);
  EXPECT_EQ(key_of(send), "broadcast/inter_node");
  EXPECT_EQ(key_of(home), "reduce/inter_node");
  costs.fits["send_experts/inter_node"].samples = 0;  // of a cluster's file: of any op of the kind
  costs.fits["return_gradients/inter_node"] = line(4, 0);
  EXPECT_EQ(key_of(send), "send_experts/inter_node");
  EXPECT_EQ(key_of(home), "return_gradients/inter_node");
  EXPECT_TRUE(is_of_chains(*collective_fit(costs, home, "inter_node")));
}

TEST(CostModelJson, KeepsEveryFigure) {
  CostModel costs;
  costs.device = "cuda";
  LinearFit& fit = costs.fits["all_to_all/inter_node"];
  fit = line(1e-4, 4.25e-9);
  fit.unit = "byte";
  fit.r2 = 0.75;
  fit.samples = 12;
  fit.min_units = 3;
  fit.max_units = 1e12;
  fit.max_relative_residual = 0.125;
  fit.relative_deviation = 0.0625;
  fit.alpha_error_s = 1e-6;
  fit.outliers = 2;
  fit.points = {{1024, 0.75}, {4096, 1.5}};
  costs.deviation = 0.03125;
  set_speed(costs.interference, "computation_beside_communication", 0.5);
  set_speed(costs.interference, "computation_beside_computation", 0.625);
  set_speed(costs.interference, "intra_node_beside_copy", 0.75);
  set_speed(costs.interference, "copy_beside_all", 0.25);
  costs.gaps = {1e-6, 5e-6};
  costs.buffers = {4096, 8192};
  costs.slowdowns = {{1.25, 0.75}, {1.5, 1}};
  const CostModel read = cost_model_from_json(to_json(costs));
  EXPECT_EQ(read.device, "cuda");
  EXPECT_EQ(read.fits, costs.fits);
  EXPECT_EQ(read.deviation, 0.03125);
  EXPECT_EQ(read.interference.speed, costs.interference.speed);
  EXPECT_EQ(read.interference.beside_all, costs.interference.beside_all);
  EXPECT_EQ(read.gaps.launch_s, 1e-6);
  EXPECT_EQ(read.gaps.queued_s, 5e-6);
  EXPECT_EQ(read.buffers.leaving_bytes, 4096);
  EXPECT_EQ(read.buffers.ahead_bytes, 8192);
  EXPECT_EQ(read.slowdowns, costs.slowdowns);
}

TEST(CostModel, CopiesAreCostedByTheirOwnFitThenAsMemory) {
  const moe::OpFacts copy("offload", moe::Executor::kernel, moe::Activity::copy,
                          moe::CostUnit::bytes, {moe::Cut::rows}, {moe::Cut::rows});
  EXPECT_EQ(general_fits(copy), (std::vector<std::string_view>{"copy", "memory"}));
  EXPECT_EQ(general_fits(moe::Gelu::facts), std::vector<std::string_view>{"memory"});
  EXPECT_EQ(general_fits(moe::Linear::facts), std::vector<std::string_view>{"gemm"});
}

TEST(CostModelJson, RefusesWhatIsMissingUnknownOrNoSpeed) {
  CostModel costs;
  costs.fits["gemm"] = line(1, 1);
  costs.fits["gemm"].unit = "flop";
  costs.slowdowns = {{1.5, 1}};
  set_speed(costs.interference, "computation_beside_computation", 0.5);
  const std::string sound = to_json(costs);
  const auto refusal = [&](const std::string& what, const std::string& with) {
    std::string text = sound;
    const auto place = text.find(what);
    EXPECT_NE(place, std::string::npos) << what;
    try {
      cost_model_from_json(text.replace(place, what.size(), with));
    } catch (const moe::InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal("\"alpha_s\"", "\"alpha\""), HasSubstr("alpha"));
  EXPECT_THAT(refusal("\"samples\":0", "\"samples\":-1"), HasSubstr("samples"));
  EXPECT_THAT(
      refusal("\"computation_beside_computation\":0.5", "\"computation_beside_computation\":0"),
      HasSubstr("expected a speed above 0"));
  EXPECT_THAT(refusal("\"gaps\":{", "\"gaps\":{\"more\":1,"), HasSubstr("more"));
  EXPECT_THAT(refusal("[1.5,1.0]", "[0,1.0]"), HasSubstr("above 0"));
  EXPECT_THAT(refusal("[[1.5,", "[[1],[1.5,"), HasSubstr("as many ranks as the first"));
  EXPECT_THAT(refusal("\"ahead_bytes\":0.0", "\"ahead_bytes\":-1"), HasSubstr("bytes, 0 or more"));
  EXPECT_EQ(refusal("\"alpha_s\":1.0", "\"alpha_s\":-1e-6"), "accepted") << "a fit over noise";
}

}  // namespace
}  // namespace tuner::cost_model_test
