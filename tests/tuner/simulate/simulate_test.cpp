#include "tuner/simulate/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "moe/errors.h"
#include "moe/passes/schedule.h"
#include "tests/tuner/single_costs.h"
#include "tests/tuner/small_program.h"
#include "tests/tuner/span_of.h"
#include "tuner/planners/pipeline/pipeline_schedule.h"
#include "tuner/simulate/lower_bound.h"

namespace tuner::simulate_test {
namespace {

using namespace test;

const moe::Routing kEven = small_routing({{1000, 1000}, {1000, 1000}});

TEST(Simulate, SequentialIsTheSumOfItsOps) {
  const auto layer = small_layer();
  const auto timeline = simulate(layer.program, two_nodes(), kEven, small_costs(), small_cluster());
  // permute 1, dispatch of 1000 rows 1, experts on 2000 rows 4, return 1, combine 0.5
  EXPECT_NEAR(timeline.duration_s, kExchange_s + 1 + 1 + 4 + 1 + 0.5, 1e-9);
}

TEST(Simulate, RanksThatShareAProcessorShareItsTime) {
  const auto layer = small_layer();
  Cluster cluster = small_cluster();
  cluster.shared_processors = {{1, {0, 1}}};
  const auto timeline = simulate(layer.program, two_nodes(), kEven, small_costs(), cluster);
  // Both compute at once, each half as fast; the exchanges are as they were.
  EXPECT_NEAR(timeline.duration_s, kExchange_s + 2 * 1 + 1 + 2 * 4 + 1 + 2 * 0.5, 1e-9);
  const LowerBound bound = lower_bound(layer.program, two_nodes(), kEven, small_costs(), cluster);
  EXPECT_NEAR(bound.seconds(), 2 * (1 + 4 + 0.5), 1e-9);
  EXPECT_EQ(bound.where, "1 processors of 2 ranks");

  cluster.shared_processors = {{2, {0, 1}}};
  EXPECT_EQ(simulate(layer.program, two_nodes(), kEven, small_costs(), cluster).duration_s,
            simulate(layer.program, two_nodes(), kEven, small_costs(), small_cluster()).duration_s);
}

TEST(Simulate, RanksThatShareNoProcessorDoNotSlowEachOtherDown) {
  const auto layer = small_layer();
  Cluster cluster = small_cluster();
  cluster.shared_processors = {{1, {0}}, {1, {1}}};
  EXPECT_EQ(simulate(layer.program, two_nodes(), kEven, small_costs(), cluster).duration_s,
            simulate(layer.program, two_nodes(), kEven, small_costs(), small_cluster()).duration_s);
}

TEST(Simulate, ACollectiveTakesItsFitsAlphaAndBeta) {
  auto costs = small_costs();
  costs.fits["all_to_all/inter_node"].alpha_s = 0.25;
  costs.fits["all_to_all/inter_node"].beta_s_per_unit =
      2e-6;  // half of the rate that the card allows
  const auto layer = small_layer();
  const auto timeline = simulate(layer.program, two_nodes(), kEven, costs, small_cluster());
  EXPECT_NEAR(span_of(layer.program, timeline, 0, "dispatch").duration_s, 0.25 + 2, 1e-9);
}

TEST(Simulate, OverlapsWhatStreamsAndDependenciesAllow) {
  const auto layer = small_layer(true);
  auto program = moe::apply(layer.program,
                            {"", {moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}});
  // The unrelated op stands after the return exchange on the compute stream, and needs nothing of
  // it.
  const auto timeline = simulate(program, two_nodes(), kEven, small_costs(), small_cluster());
  EXPECT_NEAR(span_of(program, timeline, 0, "unrelated").start_s, kExchange_s + 1 + 1 + 4, 1e-9);
  EXPECT_NEAR(timeline.duration_s, kExchange_s + 1 + 1 + 4 + 4 + 0.5, 1e-9);
}

TEST(Simulate, PipelinesTwoChunks) {
  const auto layer = small_layer();
  const auto program = moe::apply(layer.program, pipeline_schedule(layer.program, "tutel", {2, 1}));
  const auto timeline = simulate(program, two_nodes(), kEven, small_costs(), small_cluster());
  // Permutes 0-1, 1-2 (a constant each); dispatches of 500 rows 1-1.5, 2-2.5; experts of 1000 rows
  // 2-4, 4-6; returns 4-4.5, 6-6.5; combine 6.5-7.
  EXPECT_NEAR(span_of(program, timeline, 0, "dispatch", 1).start_s, kExchange_s + 2, 1e-9);
  EXPECT_NEAR(span_of(program, timeline, 0, "experts", 0).start_s, kExchange_s + 2, 1e-9);
  EXPECT_NEAR(span_of(program, timeline, 0, "return", 0).start_s, kExchange_s + 4, 1e-9);
  EXPECT_NEAR(timeline.duration_s, kExchange_s + 7, 1e-9);
}

TEST(Simulate, ComputationSlowsDownBesideCommunicationOnly) {
  auto costs = small_costs();
  set_speed(costs.interference, "computation_beside_communication", 0.5);
  const auto layer = small_layer(true);
  auto program = moe::apply(layer.program,
                            {"", {moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}});
  const auto timeline = simulate(program, two_nodes(), kEven, costs, small_cluster());
  // The 4 s of "unrelated": 1 s beside the return exchange does 0.5 of work, the rest is alone.
  EXPECT_NEAR(span_of(program, timeline, 0, "unrelated").duration_s, 4.5, 1e-9);
  EXPECT_NEAR(span_of(program, timeline, 0, "experts").duration_s, 4, 1e-9);
}

TEST(Simulate, CommunicationSlowsDownBesideComputation) {
  auto costs = small_costs();
  costs.fits["all_to_all/inter_node"].beta_s_per_unit = 1e-6;
  set_speed(costs.interference, "communication_beside_computation", 0.5);
  const auto layer = small_layer(true);
  auto program = moe::apply(layer.program,
                            {"", {moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}});
  const auto timeline = simulate(program, two_nodes(), kEven, costs, small_cluster());
  EXPECT_NEAR(span_of(program, timeline, 0, "return").duration_s, 2, 1e-9);
  EXPECT_NEAR(span_of(program, timeline, 0, "dispatch").duration_s, 1, 1e-9);
}

/// The layer with its "unrelated" op of 4 s as a copy on a stream of its own, beside the rest:
/// permute, dispatch, experts, return and combine take 1, 1, 4, 1 and 0.5 s.
struct WithCopy {
  moe::Program program = small_layer(true).program;
  moe::Groups groups = two_nodes();
  CostModel model = small_costs();
  Cluster cluster = small_cluster();

  moe::Timeline run() {
    for (moe::Op& op : program.ops) {
      if (op.name == "unrelated") op.stream = moe::Stream::copy;
    }
    std::vector<OpCost> costs = single_costs(program, groups, kEven, model, cluster);
    for (std::size_t op = 0; op < costs.size(); ++op) {
      if (program.ops[op].name == "unrelated") costs[op].activity = moe::Activity::copy;
    }
    return run_simulation(program, groups, costs, model, cluster);
  }
};

TEST(Simulate, CopiesAreAnActivityOfTheirOwn) {
  WithCopy c;
  const double alone_s = kExchange_s + 7.5;
  EXPECT_NEAR(c.run().duration_s, alone_s, 1e-6) << "where nothing slows anything down";
  set_speed(c.model.interference, "computation_beside_communication", 0.1);
  EXPECT_NEAR(c.run().duration_s, alone_s, 1e-6) << "a copy is no communication";

  set_speed(c.model.interference, "copy_beside_computation", 0.5);
  set_speed(c.model.interference, "copy_beside_inter_node", 0.25);
  // 0.5 of 4 s beside permute, 0.25 beside the dispatch, 2 beside experts, 0.25 beside the return,
  // 0.25 beside combine, the last 0.75 alone.
  moe::Timeline timeline = c.run();
  EXPECT_NEAR(end_of(span_of(c.program, timeline, 0, "combine")), alone_s, 1e-3);
  EXPECT_NEAR(span_of(c.program, timeline, 0, "unrelated").duration_s, 7.5 + 0.75, 1e-3);

  set_speed(c.model.interference, "computation_beside_copy", 0.5);
  set_speed(c.model.interference, "communication_beside_copy", 0.5);
  c.model.fits["all_to_all/inter_node"].beta_s_per_unit =
      1e-6;  // the rank's rate, not the card's alone
  timeline = c.run();
  EXPECT_NEAR(span_of(c.program, timeline, 0, "permute").duration_s, 2, 1e-3);
  EXPECT_NEAR(span_of(c.program, timeline, 0, "dispatch").duration_s, 2, 1e-3);
}

TEST(Simulate, ThreeBesideEachOtherRunAsFastAsThreeWereMeasured) {
  WithCopy c;
  c.program = moe::apply(c.program, pipeline_schedule(c.program, "tutel", {2, 1}));
  set_speed(c.model.interference, "copy_beside_computation", 0.5);
  set_speed(c.model.interference, "copy_beside_inter_node", 0.5);
  const auto copied_s = [&] { return span_of(c.program, c.run(), 0, "unrelated").duration_s; };
  // As PipelinesTwoChunks: of 7 s computation and communication are both there for 1.5 s, one of
  // them for 5.5 s; then the copy is alone.
  EXPECT_NEAR(copied_s(), 7 + 4 - 5.5 * 0.5 - 1.5 * 0.25, 1e-3) << "the product of the pairs";
  set_speed(c.model.interference, "copy_beside_all", 0.4);
  EXPECT_NEAR(copied_s(), 7 + 4 - 5.5 * 0.5 - 1.5 * 0.4, 1e-3);
}

TEST(Simulate, CopiesNeedTheProcessorsThatRanksShare) {
  WithCopy c;
  c.cluster.shared_processors = {{1, {0, 1}}};
  // Both ranks always copy or compute; each has half of the processor, and beside its own copy all
  // of that.
  const auto timeline = c.run();
  EXPECT_NEAR(span_of(c.program, timeline, 0, "permute").duration_s, 2, 1e-3);
  EXPECT_NEAR(span_of(c.program, timeline, 0, "unrelated").duration_s, 8, 1e-3);
}

TEST(Simulate, LegsOfAnExchangeTakeTheirOwnLinks) {
  // Two nodes of two ranks, 1000 rows from each rank to each: a card carries 4 MB each way,
  // whatever the route.
  moe::Program flat = small_layer().program;
  flat.groups = moe::make_groups(4, 4, {0, 0, 1, 1});
  const moe::Routing even{
      {moe::LayerRouting{0, 4, std::vector(4, std::vector<std::int64_t>(4, 1000))}}};
  Cluster cluster = small_cluster();
  cluster.ranks_per_node = 2;
  cluster.inter_node = {1e6, 0.5};
  cluster.intra_node = {1e8, 0.25};
  const auto seconds = [&](moe::Route route, int size, const std::string& op, int rank = 0) {
    const auto program = moe::apply(
        flat, moe::Exchange{0, moe::Phase::forward, moe::Direction::dispatch, route, size});
    const auto timeline = simulate(program, flat.groups, even, small_costs(), cluster);
    return span_of(program, timeline, rank, op).duration_s;
  };
  EXPECT_NEAR(seconds(moe::Route::flat, 0, "dispatch"), 0.5 + 4, 1e-9);
  EXPECT_NEAR(seconds(moe::Route::two_d, 0, "dispatch in node"), 0.25 + 0.02, 1e-9);
  EXPECT_NEAR(seconds(moe::Route::two_d, 0, "dispatch across nodes"), 0.5 + 4, 1e-9);
  EXPECT_NEAR(seconds(moe::Route::one_d, 0, "dispatch in node"), 0.25 + 0.04, 1e-9);
  EXPECT_NEAR(seconds(moe::Route::one_d, 0, "dispatch across nodes"), 0.5 + 4, 1e-9);
  EXPECT_NEAR(seconds(moe::Route::one_d, 0, "dispatch across nodes", 1), 0, 1e-9)
      << "no first rank of its node";
  EXPECT_NEAR(seconds(moe::Route::pairwise, 2, "dispatch step 1/2"), 0.25 + 0.01, 1e-9);
  EXPECT_NEAR(seconds(moe::Route::pairwise, 2, "dispatch step 2/2"), 0.5 + 4, 1e-9);
}

TEST(Simulate, AnEarlyRankWaitsWithinTheCollective) {
  // Rank 0 computes 1500 received rows (3 s), rank 1 500 (1 s): rank 1 arrives 2 s early.
  const auto layer = small_layer();
  const auto timeline = simulate(layer.program, two_nodes(), small_routing({{500, 500}, {1000, 0}}),
                                 small_costs(), small_cluster());
  const auto early = span_of(layer.program, timeline, 1, "return");
  const auto late = span_of(layer.program, timeline, 0, "return");
  EXPECT_NEAR(late.start_s - early.start_s, 2, 1e-9);
  EXPECT_NEAR(end_of(early), end_of(late), 1e-9);  // both have the 1000 rows that rank 0 returns
}

TEST(Simulate, EndsOnARankWithItsOwnTransfers) {
  // Three ranks on three nodes, three experts: only 0 and 1 have much to say to each other.
  moe::ProgramBuilder build(moe::DType::f32);
  const auto offsets = build.integers("offsets", 1, 4);
  const auto sent = build.routed("sent", moe::Rows::sent, 0, kColumns, 0);
  const auto received = build.routed("received", moe::Rows::received, 0, kColumns, 0);
  build.op(moe::EmbedTokens{}, "begin", {}, {offsets}, -1, moe::Phase::forward);
  build.op(moe::ExchangeCounts{3}, "exchange", {offsets}, {}, 0, moe::Phase::forward);
  build.op(moe::Permute{1}, "permute", {offsets}, {sent}, 0, moe::Phase::forward);
  build.op(moe::AllToAll{moe::Direction::dispatch, moe::GroupKind::expert}, "dispatch", {sent},
           {received}, 0, moe::Phase::forward);
  const moe::Routing routing{
      {moe::LayerRouting{0, 3, {{0, 3000, 1000}, {3000, 0, 0}, {1000, 0, 0}}}}};
  auto cluster = small_cluster();
  cluster.nodes = 3;
  const auto timeline =
      simulate(build.program, moe::make_groups(3, 3, {0, 1, 2}), routing, small_costs(), cluster);
  // Rank 0's card is shared: 0 -> 2 has half of it for 2 s, then 0 -> 1 has all for the rest of 4
  // s.
  EXPECT_NEAR(span_of(build.program, timeline, 2, "dispatch").duration_s, 2, 1e-6);
  EXPECT_NEAR(span_of(build.program, timeline, 1, "dispatch").duration_s, 4, 1e-6);
  EXPECT_NEAR(span_of(build.program, timeline, 0, "dispatch").duration_s, 4, 1e-6);
}

TEST(Simulate, EndsWhereTimesAreSoLongThatFlowsEndBetweenTwoNumbers) {
  auto costs = small_costs();
  costs.fits["all_to_all/inter_node"].beta_s_per_unit = 1.0 / 3;
  const auto layer = small_layer();
  const moe::Groups groups = two_nodes();
  const Cluster cluster = small_cluster();
  for (std::int64_t rows = 1; rows < 100; ++rows) {
    const moe::Routing uneven = small_routing({{1000, 1000 + 7 * rows}, {1000 + 13 * rows, 1000}});
    const auto of_ops = single_costs(layer.program, groups, uneven, costs, cluster);
    Simulation simulation(layer.program, groups, of_ops, costs, cluster);
    int events = 0;
    while (simulation.next_event() < std::numeric_limits<double>::infinity() && ++events < 1000) {
      simulation.advance(simulation.next_event());
    }
    ASSERT_LT(events, 1000);
    EXPECT_GT(simulation.timeline().duration_s, 1e5);
  }
}

TEST(Simulate, FlowsThatDifferByARowEndTogetherAndNeverEarly) {
  const auto layer = small_layer();
  const auto duration = [&](std::int64_t rows) {
    const moe::Routing routing = small_routing({{0, 10000}, {rows, 0}});
    return simulate(layer.program, two_nodes(), routing, small_costs(), small_cluster()).duration_s;
  };
  EXPECT_GE(duration(10001), duration(10000));
  EXPECT_LE(duration(10001), duration(10000) * 1.001);
}

TEST(Simulate, CollectivesOnOneCardShareIt) {
  // A reduction of 500 kB (ring of two: 500 kB to the neighbour) beside a dispatch of 1 MB.
  moe::ProgramBuilder build(moe::DType::f32);
  const auto offsets = build.integers("offsets", 1, 3);
  const auto gradient = build.activation("gradient", 500, kColumns);
  const auto sent = build.routed("sent", moe::Rows::sent, 0, kColumns, 0);
  const auto received = build.routed("received", moe::Rows::received, 0, kColumns, 0);
  build.op(moe::EmbedTokens{}, "begin", {}, {offsets, gradient}, -1, moe::Phase::forward);
  build.op(moe::ExchangeCounts{2}, "exchange", {offsets}, {}, 0, moe::Phase::forward);
  build.op(moe::EmbedTokens{}, "sent", {offsets}, {sent}, 0, moe::Phase::forward);
  build.op(moe::AllToAll{moe::Direction::dispatch, moe::GroupKind::expert}, "dispatch", {sent},
           {received}, 0, moe::Phase::forward);
  build.program.ops.back().stream = moe::Stream::inter_node;
  build.op(moe::AllReduce{moe::GroupKind::stage}, "all_reduce", {gradient}, {gradient}, 0,
           moe::Phase::backward);
  const auto timeline = simulate(build.program, two_nodes(), kEven, small_costs(), small_cluster());
  // Half of the card each until the reduction ends at 1 s; the dispatch has 0.5 MB left by then.
  EXPECT_NEAR(span_of(build.program, timeline, 0, "all_reduce").duration_s, 1, 1e-6);
  EXPECT_NEAR(span_of(build.program, timeline, 0, "dispatch").duration_s, 1.5, 1e-6);
}

TEST(Simulate, RanksOfANodeUseTheirOwnLinkAndShareTheCard) {
  // Four ranks on two nodes, 1000 rows from everyone to everyone: 2 ranks x 2 peers x 1 MB leave a
  // node at 1 MB/s; what stays in the node is far faster.
  moe::ProgramBuilder build(moe::DType::f32);
  const auto sent = build.routed("sent", moe::Rows::sent, 0, kColumns, 0);
  const auto received = build.routed("received", moe::Rows::received, 0, kColumns, 0);
  const auto offsets = build.integers("offsets", 1, 5);
  build.op(moe::EmbedTokens{}, "begin", {}, {offsets}, -1, moe::Phase::forward);
  build.op(moe::ExchangeCounts{4}, "exchange", {offsets}, {}, 0, moe::Phase::forward);
  build.op(moe::Permute{1}, "permute", {offsets}, {sent}, 0, moe::Phase::forward);
  build.op(moe::AllToAll{moe::Direction::dispatch, moe::GroupKind::expert}, "dispatch", {sent},
           {received}, 0, moe::Phase::forward);
  const moe::Routing routing{{moe::LayerRouting{
      0, 4, std::vector<std::vector<std::int64_t>>(4, std::vector<std::int64_t>(4, 1000))}}};
  const auto timeline = simulate(build.program, moe::make_groups(4, 4, {0, 0, 1, 1}), routing,
                                 small_costs(), small_cluster());
  EXPECT_NEAR(span_of(build.program, timeline, 0, "dispatch").duration_s, 4, 1e-6);
}

TEST(Simulate, LaunchGapsStandBeforeOps) {
  auto costs = small_costs();
  costs.gaps.launch_s = 0.1;
  const auto layer = small_layer();
  const auto program = moe::apply(
      layer.program, {"", {moe::StreamAssignment{"all_to_all", moe::Stream::inter_node}}});
  const auto timeline = simulate(program, two_nodes(), kEven, costs, small_cluster());
  const auto gap = [&](const std::string& before, const std::string& after) {
    return span_of(program, timeline, 0, after).start_s -
           end_of(span_of(program, timeline, 0, before));
  };
  EXPECT_NEAR(gap("exchange counts", "permute"), 0.1, 1e-9);
  EXPECT_NEAR(gap("permute", "dispatch"), 0.1, 1e-9);
  EXPECT_NEAR(gap("dispatch", "experts"), 0.1, 1e-9);
  EXPECT_NEAR(gap("return", "combine"), 0.1, 1e-9);
  EXPECT_NEAR(span_of(program, timeline, 0, "begin").start_s, 0.1, 1e-9);
}

TEST(Simulate, NamesAMissingFitAndHowToMeasureIt) {
  auto costs = small_costs();
  costs.fits.erase("permute");
  try {
    simulate(small_layer().program, two_nodes(), kEven, costs, small_cluster());
    FAIL();
  } catch (const moe::Refusal& error) {
    EXPECT_NE(std::string(error.what()).find("permute"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("moe-tune fit"), std::string::npos);
  }
}

}  // namespace
}  // namespace tuner::simulate_test
