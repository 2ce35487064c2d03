#include "tuner/costs/used_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/program/row_handling.h"
#include "tests/tuner/small_program.h"

namespace tuner::used_fits_test {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// linear [8,4] x [4,6]; gelu of it; a product of two local experts on rows of layer 0, on one
/// rank.
struct Ops {
  moe::ProgramBuilder build;
  moe::Groups groups = moe::make_groups(1, 1);
  moe::Binding binding;

  Ops() : build(moe::DType::f32) {
    using namespace moe;
    const TensorId x = build.activation("x", 8, 4), w = build.parameter({"w", 4, 6}),
                   y = build.activation("y", 8, 6), z = build.activation("z", 8, 6);
    const TensorId received = build.routed("received", Rows::received, 0, 4, 0),
                   experts = build.parameter({"experts", 8, 3}),
                   produced = build.routed("produced", Rows::received, 0, 3, 0);
    build.op(Linear{}, "linear", {x, w}, {y}, -1, Phase::forward);
    build.op(Gelu{}, "gelu", {y}, {z}, -1, Phase::forward);
    build.op(ExpertLinear{2}, "experts", {received, experts}, {produced}, 0, Phase::forward);
    binding.layouts.emplace(moe::RoutedLayer{0},
                            make_row_layout({0, 2, {{7, 0}}}, groups, 0, {{0, 1}, {1, 1}}));
  }
  std::vector<std::string> used(const CostModel& costs) const {
    const std::vector<OpCost> of_ops(build.program.ops.size());
    return fits_used(costs, build.program, of_ops, binding, groups);
  }
};

std::vector<OpCost> costs_of(const moe::Program& program, const moe::Groups& groups,
                             const CostModel& costs) {
  const std::vector<std::vector<std::int64_t>> two{{2, 3}, {1, 4}}, one{{2, 3}};
  Cluster links;
  links.inter_node = links.intra_node = {1, 0};
  return program_costs(program, groups, small_routing(groups.ranks == 1 ? one : two), costs, links)
      .ops;
}

TEST(UsedFits, TellWhichFitsAPredictionRestsOnAndWhichReachTooFar) {
  const Ops ops;
  CostModel costs;
  costs.fits["gemm"] = line(1, 1);
  costs.fits["gemm"].r2 = 0.5;
  costs.fits["gemm"].samples = 3;
  costs.fits["gemm"].min_units = 300;
  costs.fits["gemm"].max_units = 384;
  costs.fits["memory"] = line(1, 1);
  // linear has 384 flops; the experts 168, within half of 300; gelu's fit is the user's own.
  EXPECT_THAT(ops.used(costs), ElementsAre("expert_linear[4x3]: gemm, r2 0.5000, 3 samples",
                                           "gelu[8 rows, 6x6]: memory, as the cluster file says",
                                           "linear[8 rows, 4x6]: gemm, r2 0.5000, 3 samples"));
  costs.fits["gemm"].max_units = 191;
  costs.fits["gemm"].min_units = 100;
  EXPECT_THAT(ops.used(costs)[2], HasSubstr("3 samples, extrapolated"));
  costs.fits["gemm"].min_units = costs.fits["gemm"].max_units = 400;
  EXPECT_THAT(ops.used(costs)[0], HasSubstr("3 samples, extrapolated"));
}

TEST(UsedFits, TellWhatIsBeyondTheMeasuredSizes) {
  EXPECT_EQ(beyond_measured({"gelu: gelu, 3 samples", "linear[4x6]: linear, 3 samples"}), "");
  EXPECT_EQ(
      beyond_measured(
          {"gelu: gelu, 3 samples, extrapolated", "linear[4x6]: linear, 3 samples, extrapolated",
           "linear[8x6]: linear, 3 samples, extrapolated", "send_rows: the cluster's links"}),
      "of 4 shapes of ops 3 are extrapolated (gelu, linear), and 1 has the rate of its link "
      "alone (send_rows)");
}

TEST(UsedFits, TellWhichFitsOfAFileWereMeasured) {
  CostModel costs;
  costs.fits["gemm"] = costs.fits["memory"] = line(1, 1);
  costs.measured = {"gemm"};
  const auto lines = Ops().used(costs);
  EXPECT_EQ(lines[0], "expert_linear[4x3]: gemm, measured as the cluster file says");
  EXPECT_EQ(lines[1], "gelu[8 rows, 6x6]: memory, as the cluster file says");
}

TEST(UsedFits, OfAnotherPrecisionAreNotMissed) {
  CostModel costs;
  costs.fits["attention_bf16"] = line(1, 1);
  FitUse use;
  use.used = {"gemm"};
  EXPECT_EQ(unused_fits(costs, use), "");
  use.used = {"linear_bf16[8 rows, 4x6]"};
  EXPECT_THAT(unused_fits(costs, use), HasSubstr("attention_bf16"));
}

TEST(UsedFits, TellWhereTheClustersLinksSpeakForACollective) {
  const auto layer = small_layer();
  const auto groups = two_nodes();
  const auto binding = moe::bind(layer.program, small_routing({{2, 3}, {1, 4}}), groups, 0);
  CostModel costs = small_costs();
  costs.fits["all_to_all/inter_node"] = line(1, 1);
  costs.fits["all_to_all/inter_node"].samples = 1;
  const auto lines =
      fits_used(costs, layer.program, costs_of(layer.program, groups, costs), binding, groups);
  EXPECT_THAT(lines, ::testing::Contains("exchange_counts: the cluster's links"));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("all_to_all: all_to_all/inter_node, 1 sample")));
}

TEST(UsedFits, OfACollectiveAreThoseOfTheKindThatStandsInForIt) {
  CostModel costs = small_costs();
  costs.fits["all_to_all/inter_node"] = line(1, 1);
  costs.fits["send_experts/inter_node"] = line(1, 1);
  const moe::Program program = small_layer().program;
  const auto used = fit_use(costs, program, costs_of(program, two_nodes(), costs)).used;
  EXPECT_TRUE(used.contains("all_to_all/inter_node"));
  EXPECT_FALSE(used.contains("send_experts/inter_node"));
}

TEST(UsedFits, OfACollectiveAreThoseOfTheLinksThatItCrosses) {
  const moe::Program program = small_layer().program;
  CostModel costs = small_costs();
  costs.fits["all_to_all/inter_node"] = costs.fits["all_to_all/intra_node"] = line(1, 1);
  const auto groups_of_nodes = [](std::vector<int> nodes) {
    return moe::make_groups(2, 2, std::move(nodes));
  };
  const auto used = [&](const moe::Groups& groups) {
    const FitUse use = fit_use(costs, program, costs_of(program, groups, costs));
    EXPECT_TRUE(use.of_other_link.empty());
    return std::pair(use.used.contains("all_to_all/inter_node"),
                     use.used.contains("all_to_all/intra_node"));
  };
  EXPECT_EQ(used(groups_of_nodes({0, 1})), std::pair(true, false));
  EXPECT_EQ(used(groups_of_nodes({0, 0})), std::pair(false, true));
}

TEST(UsedFits, OfTheOtherLinkAreNamedAndTheLinkThatCountsInTheirPlace) {
  const moe::Program program = small_layer(true).program;
  for (const bool between : {true, false}) {
    const moe::Groups groups = moe::make_groups(2, 2, {0, between ? 1 : 0});
    const std::string key = between ? "all_to_all/intra_node" : "all_to_all/inter_node";
    CostModel costs = small_costs();
    costs.fits.erase("embed_tokens");
    costs.fits[key] = line(1, 1);
    const auto binding = moe::bind(program, small_routing({{2, 3}, {1, 4}}), groups, 0);
    EXPECT_THAT(fits_used(costs, program, costs_of(program, groups, costs), binding, groups),
                ::testing::Contains("all_to_all: the cluster's links"));
    EXPECT_EQ(unused_fits(costs, fit_use(costs, program, costs_of(program, groups, costs))),
              "no op uses the fit of " + key +
                  " in the cluster's file; ops that cross only the other link cost what that link "
                  "says");
    // A rank on its own crosses no link.
    EXPECT_EQ(unused_fits(
                  costs, fit_use(costs, program, costs_of(program, moe::make_groups(1, 1), costs))),
              "");
  }
}

TEST(UsedFits, NameWhatAFileTellsOfAKindThatNoOpIs) {
  CostModel costs;
  costs.fits["gemm"] = costs.fits["gemm_f64"] = costs.fits["reduce/inter_node"] = line(1, 1);
  const FitUse gemm{{"gemm"}, {}}, both{{"gemm", "expert_linear"}, {}};
  EXPECT_EQ(unused_fits(costs, gemm), "") << "general fits are for other models too";
  costs.fits["expert_linear"] = costs.fits["send_experts/inter_node"] = line(1, 1);
  EXPECT_EQ(unused_fits(costs, both),
            "no op uses the fit of send_experts/inter_node in the cluster's file");
  EXPECT_EQ(unused_fits(costs, gemm),
            "no op uses the fits of expert_linear, send_experts/inter_node in the cluster's file");
  costs.fits["send_experts/inter_node"].samples = 4;
  EXPECT_EQ(unused_fits(costs, both), "") << "it was measured";
}

}  // namespace
}  // namespace tuner::used_fits_test
