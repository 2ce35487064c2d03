#include "moe/run/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/program/row_handling.h"
#include "tests/moe/run/layer_program.h"

namespace moe::prepare_test {
namespace {

using test::LayerProgram;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

enum Position { exchange, permute, dispatch, experts, back, unrelated };

/// The preparation of ops, without a runner's threads.
struct Prepared {
  std::unique_ptr<Backend> backend = make_cpu_backend(1);
  LayerProgram layer;
  Groups groups;
  RunState state;

  explicit Prepared(Communicator& world, std::int64_t limit = 1 << 20)
      : groups(make_groups(world.size, world.size)),
        state(groups, *backend, world, {.memory_limit_bytes = limit}) {
    adopt(state, layer.build.program);
    reset(state);
    state.progress.begin(state.program.ops.size() + 1, 0);
  }
  std::vector<int> ready() {
    std::vector<int> ops;
    for (int op = 0; op < static_cast<int>(state.program.ops.size()); ++op) {
      if (state.progress.await(op, {}, {}, 0).verdict == Progress::Verdict::go) ops.push_back(op);
    }
    return ops;
  }
  void learn(std::vector<std::vector<std::int64_t>> tokens) {
    const Routing routing{{LayerRouting{0, 2, std::move(tokens)}}};
    state.binding = bind(state.program, routing, groups, state.world.rank);
    prepare(state, RoutedLayer{0, 0});
  }
};

MATCHER_P3(IsSegment, peer, begin, rows, "") {
  return arg.peer == peer && arg.begin == begin && arg.rows == rows;
}

TEST(Prepare, BeforeTheRoutingOnlyOpsOfKnownRowsMayGoWhereverTheyStand) {
  const auto world = make_solo_communicator();
  Prepared p(*world);
  EXPECT_THAT(p.ready(), ElementsAre());
  prepare(p.state);
  EXPECT_THAT(p.ready(), ElementsAre(exchange, unrelated));
  p.learn({{1, 1}});
  EXPECT_THAT(p.ready(), ElementsAre(exchange, permute, dispatch, experts, back, unrelated));
}

TEST(Prepare, ResetForgetsTheLastIterationsRouting) {
  const auto world = make_solo_communicator();
  Prepared p(*world);
  prepare(p.state);
  p.learn({{1, 1}});
  reset(p.state);
  p.state.progress.begin(p.state.program.ops.size() + 1, 0);
  prepare(p.state);
  EXPECT_THAT(p.ready(), ElementsAre(exchange, unrelated));
}

TEST(Prepare, AnExchangeSendsWhatTheRoutingSaysAndTheReturnSendsItBack) {
  run_local_ranks(2, [](Communicator& world) {
    Prepared p(world);
    prepare(p.state);
    p.learn({{3, 1}, {2, 5}});  // expert 0 is on rank 0
    if (world.rank != 0) return;
    const PreparedOp& there = p.state.prepared_op(dispatch);
    const PreparedOp& home = p.state.prepared_op(back);
    EXPECT_THAT(there.send, ElementsAre(IsSegment(0, 0, 3), IsSegment(1, 3, 1)));
    EXPECT_THAT(there.receive, ElementsAre(IsSegment(0, 0, 3), IsSegment(1, 3, 2)));
    EXPECT_THAT(home.send, ElementsAre(IsSegment(0, 0, 3), IsSegment(1, 3, 2)));
    EXPECT_THAT(home.receive, ElementsAre(IsSegment(0, 0, 3), IsSegment(1, 3, 1)));
    EXPECT_EQ(there.bound.reads[0].rows, 4);
    EXPECT_EQ(there.bound.writes[0].rows, 5);
  });
}

TEST(Prepare, ExpertsGetTheRangeOfEachOthersAllOfTheirRows) {
  const auto world = make_solo_communicator();
  Prepared p(*world);
  prepare(p.state);
  p.learn({{3, 0}});
  const auto range = [&](int op, std::size_t i) {
    const RowRange& r = p.state.prepared_op(op).bound.ranges.at(i);
    return std::pair(r.begin, r.rows);
  };
  EXPECT_EQ(range(experts, 0), std::pair(std::int64_t{0}, std::int64_t{3}));
  EXPECT_EQ(range(experts, 1), std::pair(std::int64_t{3}, std::int64_t{0}));
  ASSERT_EQ(p.state.prepared_op(unrelated).bound.ranges.size(), 1u);
  EXPECT_EQ(range(unrelated, 0), std::pair(std::int64_t{0}, std::int64_t{2}));
}

TEST(Prepare, AStreamIsToldOfOtherStreamsOnlyAndUpdatesOfTheDecision) {
  const auto world = make_solo_communicator();
  Prepared p(*world);
  EXPECT_THAT(p.state.waits_for[permute], ElementsAre(exchange));
  EXPECT_THAT(p.state.waits_for[dispatch], ElementsAre(exchange)) << "permute is on its own stream";
  EXPECT_THAT(p.state.issued_before[unrelated], ElementsAre());
  Program program = p.layer.build.program;
  program.ops[unrelated].phase = Phase::update;
  adopt(p.state, program);
  EXPECT_THAT(p.state.issued_before[unrelated], ElementsAre(p.state.decision()));
  EXPECT_THAT(p.state.issued_before[experts], ElementsAre());
}

TEST(Prepare, RefusesRowsThatTheLimitDoesNotHold) {
  const auto world = make_solo_communicator();
  Prepared p(*world, 1 << 14);
  prepare(p.state);
  EXPECT_THAT(
      [&] {
        p.learn({{1'000'000, 0}});
      },
      ThrowsMessage<OutOfMemory>(HasSubstr("more than the limit of 16.0 KiB")));
}

}  // namespace
}  // namespace moe::prepare_test
