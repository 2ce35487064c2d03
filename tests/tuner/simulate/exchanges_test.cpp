#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "moe/passes/schedule.h"
#include "tests/tuner/small_program.h"
#include "tests/tuner/span_of.h"
#include "tuner/simulate/simulate.h"

/// Exchanges that begin and end message by message (MessageBuffers).
namespace tuner::exchanges_test {
namespace {

using namespace test;

TEST(Exchanges, ARankLeavesAnExchangeWhileItsLastBytesStillTravel) {
  auto costs = small_costs();
  costs.buffers.leaving_bytes = 250e3;
  const auto layer = small_layer();
  // Rank 0 sends 1 MB and gets nothing.
  const auto timeline = simulate(layer.program, two_nodes(), small_routing({{0, 1000}, {0, 0}}),
                                 costs, small_cluster());
  EXPECT_NEAR(span_of(layer.program, timeline, 0, "dispatch").duration_s, 0.75, 1e-9);
  EXPECT_NEAR(span_of(layer.program, timeline, 1, "dispatch").duration_s, 1, 1e-9);
  costs.buffers.leaving_bytes = 2e6;
  const auto all_buffered = simulate(layer.program, two_nodes(),
                                     small_routing({{0, 1000}, {400, 0}}), costs, small_cluster());
  EXPECT_NEAR(span_of(layer.program, all_buffered, 0, "dispatch").duration_s, 0.4, 1e-9)
      << "until its own rows have come";
  EXPECT_NEAR(span_of(layer.program, all_buffered, 1, "dispatch").duration_s, 1, 1e-9);
}

TEST(Exchanges, MessagesTravelBeforeTheirReceiverArrives) {
  auto costs = small_costs();
  const auto layer = small_layer();
  const moe::Routing routing = small_routing({{0, 1000}, {0, 0}});
  // Rank 1 permutes for 1.5 s, rank 0 for 1.
  const auto duration_on_1 = [&](double ahead_bytes) {
    costs.buffers.ahead_bytes = ahead_bytes;
    ProgramCosts of_ranks =
        program_costs(layer.program, two_nodes(), routing, costs, small_cluster());
    of_ranks.ops[2].seconds = {1, 1.5};
    const auto timeline = simulate(layer.program, of_ranks, costs, small_cluster());
    EXPECT_NEAR(span_of(layer.program, timeline, 1, "dispatch").start_s, 1.5 + kExchange_s, 1e-9);
    EXPECT_NEAR(end_of(span_of(layer.program, timeline, 0, "dispatch")),
                end_of(span_of(layer.program, timeline, 1, "dispatch")), 1e-9);
    return span_of(layer.program, timeline, 1, "dispatch").duration_s;
  };
  EXPECT_NEAR(duration_on_1(1), 1, 1e-5);
  EXPECT_NEAR(duration_on_1(200e3), 0.8, 1e-9) << "it waits with the others";
  EXPECT_NEAR(duration_on_1(1e9), 0.5, 1e-9) << "all that the card can send in half a second";
}

TEST(Exchanges, MessagesOfOneStreamFollowEachOther) {
  // Rank 0 sends 600 kB in each of two chunks and need not wait for them.
  auto costs = small_costs();
  costs.buffers = {1e9, 1e9};
  costs.fits["gelu"] = costs.fits["permute"] = line(0);
  const auto layer = small_layer();
  const auto program =
      moe::apply(layer.program, {"",
                                 {moe::StreamAssignment{"all_to_all", moe::Stream::inter_node},
                                  moe::PipelineSplit{0, moe::Phase::forward, 2}}});
  const auto timeline =
      simulate(program, two_nodes(), small_routing({{0, 1200}, {0, 0}}), costs, small_cluster());
  std::vector<double> ends;
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    if (!program.ops[op].name.starts_with("dispatch")) continue;
    // Rank 0 goes on when both have come; rank 1 comes to the second when it has the first.
    EXPECT_NEAR(timeline.ranks[0][op].duration_s, ends.empty() ? 0 : 0.6, 1e-6);
    ends.push_back(end_of(timeline.ranks[1][op]));
  }
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_NEAR(ends[1] - ends[0], 0.6, 1e-6) << "not a share of the card for each";
}

/// The exchange of counts and the dispatch of the small layer among ranks of these nodes.
struct Exchange {
  moe::Program program;
  moe::Groups groups;
  moe::Timeline timeline;

  Exchange(std::vector<int> node_of, std::vector<std::vector<std::int64_t>> rows,
           MessageBuffers buffers, std::vector<double> permute_s, double queued_s = 0)
      : groups(moe::make_groups(static_cast<int>(node_of.size()), static_cast<int>(node_of.size()),
                                node_of)) {
    const auto ranks = static_cast<int>(node_of.size());
    moe::ProgramBuilder build(moe::DType::f32);
    const auto offsets = build.integers("offsets", 1, ranks + 1);
    const auto sent = build.routed("sent", moe::Rows::sent, 0, kColumns, 0);
    const auto received = build.routed("received", moe::Rows::received, 0, kColumns, 0);
    build.op(moe::EmbedTokens{}, "begin", {}, {offsets}, -1, moe::Phase::forward);
    build.op(moe::ExchangeCounts{ranks}, "exchange", {offsets}, {}, 0, moe::Phase::forward);
    build.program.ops.back().stream = moe::Stream::host;
    build.op(moe::Permute{1}, "permute", {offsets}, {sent}, 0, moe::Phase::forward);
    build.op(moe::AllToAll{moe::Direction::dispatch, moe::GroupKind::expert}, "dispatch", {sent},
             {received}, 0, moe::Phase::forward);
    program = std::move(build.program);
    auto costs = small_costs();
    costs.buffers = buffers;
    costs.gaps.queued_s = queued_s;
    const moe::Routing routing{{moe::LayerRouting{0, ranks, std::move(rows)}}};
    ProgramCosts of_ranks = program_costs(program, groups, routing, costs, small_cluster());
    of_ranks.ops[2].seconds = std::move(permute_s);
    timeline = simulate(program, of_ranks, costs, small_cluster());
  }
  double end_s(int rank) const { return end_of(span_of(program, timeline, rank, "dispatch")); }
};
constexpr double kNearlyAtOnce = 1e-3;  ///< counts take microseconds of the card

TEST(Exchanges, RanksThatAreThereExchangeBeforeTheLastComes) {
  // Ranks 0 and 1 send each other 1 MB from 1 s on, rank 2 comes after 4 s with 0.5 MB for rank 0.
  const std::vector<std::vector<std::int64_t>> rows{{0, 1000, 0}, {1000, 0, 0}, {500, 0, 0}};
  const Exchange apart({0, 1, 2}, rows, {1, 1}, {1, 1, 4});
  EXPECT_NEAR(apart.end_s(1), 4, kNearlyAtOnce) << "when the last comes, not before";
  EXPECT_NEAR(apart.end_s(0), 4.5, kNearlyAtOnce);
  EXPECT_NEAR(apart.end_s(2), 4.5, kNearlyAtOnce);
  const Exchange as_one({0, 1, 2}, rows, {}, {1, 1, 4});
  EXPECT_NEAR(as_one.end_s(1), 5.5, kNearlyAtOnce) << "rank 0 gets 1.5 MB then, half of each first";
}

TEST(Exchanges, MessagesInsideANodeBeginWhenAllHaveCome) {
  // Rank 0 sends 1 MB to rank 1 of its node, which takes a millisecond there, and to rank 2.
  const Exchange exchange({0, 0, 1}, {{0, 1000, 1000}, {0, 0, 0}, {0, 0, 0}}, {1e9, 1e9},
                          {1, 1, 3});
  EXPECT_NEAR(exchange.end_s(1), 3.001, 1e-4);
  EXPECT_NEAR(exchange.end_s(2), 3, kNearlyAtOnce) << "all of it came ahead";
}

TEST(Exchanges, WhatFollowsItsOwnMessagesWaitsForNoQueueBeside) {
  // The early rank's own message is under way when the late one comes: nothing else queues.
  const std::vector<std::vector<std::int64_t>> rows{{0, 1000}, {1000, 0}};
  const Exchange without({0, 1}, rows, {1e5, 1e9}, {1, 1.5});
  const Exchange with({0, 1}, rows, {1e5, 1e9}, {1, 1.5}, 10);
  EXPECT_NEAR(with.end_s(0), without.end_s(0), kNearlyAtOnce);
  EXPECT_NEAR(with.end_s(1), without.end_s(1), kNearlyAtOnce);
}

}  // namespace
}  // namespace tuner::exchanges_test
