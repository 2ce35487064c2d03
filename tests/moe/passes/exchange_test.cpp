#include "moe/passes/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "tests/moe/passes/exchange_cases.h"
#include "tests/moe/train/training_case.h"

namespace moe::exchange_test {
namespace {

using test::small_model;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

const std::vector<int> kTwoByTwo{0, 0, 1, 1};

Program iteration(const Groups& groups) {
  return build_iteration(small_model(DType::f32), groups, 0);
}

/// The ops between the permutation and the experts, in one phase of layer 1: "exchange_in_node
/// inter_node 1/2, ..."
std::vector<std::string> kinds(const Program& program, Phase phase) {
  std::vector<std::string> names;
  for (const Op& op : program.ops) {
    if (op.layer == 1 && op.phase == phase && is_all_to_all(op)) {
      names.push_back(std::string(kind_name(op)));
    }
  }
  return names;
}

TEST(Exchange, EveryRouteBringsEveryRowWhereFlatDoes) {
  struct Case {
    Layout layout;
    std::vector<int> node_of;
    std::vector<int> group_sizes;
  };
  const std::vector<Case> cases{
      {{1, 4, 1}, {0, 0, 1, 1}, {1, 2, 4}},
      {{1, 4, 1}, {0, 1, 0, 1}, {2}},
      {{1, 4, 1}, {0, 1, 1, 0}, {2}},
      {{1, 6, 1}, {0, 0, 0, 1, 1, 1}, {1, 2, 3}},
      {{1, 6, 1}, {0, 0, 1, 1, 2, 2}, {6}},
      {{1, 8, 1}, {0, 0, 0, 0, 1, 1, 1, 1}, {2, 4}},
      {{1, 8, 1}, {0, 0, 1, 1, 2, 2, 3, 3}, {1}},
      {{1, 8, 1}, {3, 1, 0, 2, 1, 3, 2, 0}, {4}},
      {{1, 4, 2}, {0, 0, 0, 0, 1, 1, 1, 1}, {1, 2}},
      {{2, 4, 1}, {0, 0, 1, 1, 2, 2, 3, 3}, {2}},
      {{2, 2, 2}, {0, 0, 0, 0, 1, 1, 1, 1}, {1}},
  };
  for (const Case& c : cases) {
    const Groups groups = make_groups(c.layout, c.node_of);
    run_local_ranks(groups.ranks, [&](Communicator& world) {
      for (int chunks = 1; chunks <= 8; ++chunks) {
        for (const Route route : {Route::flat, Route::one_d, Route::two_d}) {
          cases::check_route(world, groups, route, 0, chunks);
        }
        for (const int size : c.group_sizes) {
          cases::check_route(world, groups, Route::pairwise, size, chunks);
        }
      }
    });
  }
}

TEST(Exchange, ChangesNoBitOfLossesAndGradients) {
  Model dropping = small_model(DType::f32);
  dropping.capacity_factor = 1.25;
  struct Case {
    Model model;
    Layout layout;
    std::vector<int> node_of;
  };
  for (const Case& c : {Case{small_model(DType::f32), {1, 4, 1}, {0, 0, 1, 1}},
                        Case{dropping, {1, 4, 1}, {0, 1, 0, 1}},
                        Case{small_model(DType::f32), {1, 2, 2}, {0, 0, 1, 1}}}) {
    const Groups groups = make_groups(c.layout, c.node_of);
    for (const int chunks : {1, 3}) {
      Schedule schedule = test::chunked(c.model, chunks, chunks + 1);
      const test::Outcome flat = test::train_small(c.model, schedule, groups, 3);
      for (const Route route : {Route::one_d, Route::two_d, Route::pairwise}) {
        Schedule other = schedule;
        for (const Phase phase : {Phase::forward, Phase::backward}) {
          other.decisions.push_back(Exchange{1, phase, {}, route, 1});
        }
        other.decisions.push_back(StreamAssignment{"exchange_in_node", Stream::intra_node});
        other.decisions.push_back(StreamAssignment{"exchange_across_nodes", Stream::inter_node});
        other = test::with_streams_of(build_iteration(c.model, groups, 0), other);
        const test::Outcome outcome = test::train_small(c.model, other, groups, 3);
        EXPECT_EQ(outcome.losses, flat.losses) << route_name(route);
        EXPECT_EQ(outcome.gradients, flat.gradients) << route_name(route);
        EXPECT_EQ(outcome.dropped, flat.dropped);
        if (!c.model.capacity_factor) {
          EXPECT_EQ(outcome.touched_peaks, outcome.planned_peaks) << route_name(route);
        }
      }
    }
  }
}

TEST(Exchange, MakesLegsInTheOrderOfTheirDirection) {
  const Program whole = iteration(make_groups(4, 4, kTwoByTwo));
  const auto by = [&](Route route, std::optional<Direction> direction, int size = 0) {
    return kinds(apply(whole, Exchange{1, Phase::forward, direction, route, size}), Phase::forward);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(by(Route::flat, {}), (Names{"all_to_all", "all_to_all"}));
  EXPECT_EQ(by(Route::two_d, {}), (Names{"exchange_in_node", "exchange_across_nodes",
                                         "exchange_across_nodes", "exchange_in_node"}));
  EXPECT_EQ(by(Route::one_d, Direction::combine),
            (Names{"all_to_all", "exchange_in_node", "exchange_across_nodes", "exchange_in_node"}));
  EXPECT_EQ(by(Route::pairwise, Direction::dispatch, 2),
            (Names{"exchange_step", "exchange_step", "all_to_all"}));
  // The other phase keeps its own.
  EXPECT_EQ(kinds(apply(whole, Exchange{1, Phase::forward, {}, Route::two_d, 0}), Phase::backward),
            (Names{"all_to_all", "all_to_all"}));
}

TEST(Exchange, IsFlatWhereNodesLeaveNothingToGather) {
  for (const std::vector<int>& nodes : {std::vector<int>{0, 0, 0, 0}, {0, 1, 2, 3}}) {
    const Program whole = iteration(make_groups(4, 4, nodes));
    for (const Route route : {Route::one_d, Route::two_d}) {
      EXPECT_EQ(to_text(apply(whole, Exchange{1, Phase::backward, {}, route, 0})), to_text(whole));
    }
  }
  const Program whole = iteration(make_groups(4, 4));
  EXPECT_EQ(to_text(apply(whole, Exchange{1, Phase::forward, {}, Route::pairwise, 4})),
            to_text(whole));
}

TEST(Exchange, SetsAsideNoMoreThanCapacityLetsTravel) {
  Model model = small_model(DType::f32);
  model.capacity_factor = 1;
  const Groups groups = make_groups(4, 4, kTwoByTwo);
  const Program whole = build_iteration(model, groups, 0);
  const auto rows_named = [&](const Program& program, const std::string& name) {
    for (const Tensor& tensor : program.tensors) {
      if (tensor.name == name) return tensor.rows;
    }
    ADD_FAILURE() << "no tensor " << name;
    return std::int64_t{0};
  };
  const std::int64_t sent = rows_named(whole, "block1.sent"),
                     received = rows_named(whole, "block1.received");
  ASSERT_GT(sent, 0);
  const Program two = apply(whole, Exchange{1, Phase::forward, {}, Route::two_d, 0});
  EXPECT_EQ(rows_named(two, "block1.sent.relayed"), std::min(2 * sent, received));
  const Program one = apply(whole, Exchange{1, Phase::forward, {}, Route::one_d, 0});
  EXPECT_EQ(rows_named(one, "block1.sent.leader_sent"), 2 * sent);
  EXPECT_EQ(rows_named(one, "block1.sent.leader_received"), std::min(2 * received, 4 * sent));
}

TEST(Exchange, RefusesWhatNodesAndRanksCannotDo) {
  const auto applied = [](const Groups& groups, Exchange exchange) {
    return [=] { apply(iteration(groups), exchange); };
  };
  EXPECT_THAT(
      applied(make_groups(4, 4, {0, 0, 0, 1}), {1, Phase::forward, {}, Route::two_d, 0}),
      ThrowsMessage<Refusal>(
          StrEq("exchange: two_d (layer 1, forward): the expert group of rank 0 has 3, 1 ranks on "
                "its nodes: expected equally many on each: flat and pairwise take any")));
  EXPECT_THAT(
      applied(make_groups(Layout{2, 2, 1}, {0, 0, 0, 1}),
              {1, Phase::backward, Direction::combine, Route::one_d, 0}),
      ThrowsMessage<Refusal>(
          StrEq("exchange: one_d (layer 1, backward combine): the expert group of rank 2 has 1, 1 "
                "ranks on its nodes, that of rank 0 has 2: expected all expert groups alike: flat "
                "and pairwise take any")));
  EXPECT_THAT(applied(make_groups(4, 4), {1, Phase::forward, {}, Route::pairwise, 3}),
              ThrowsMessage<Refusal>(
                  StrEq("exchange: pairwise in groups of 3 (layer 1, forward): 4 ranks exchange "
                        "rows: expected one of 1, 2, 4")));
  EXPECT_THAT(applied(make_groups(4, 4), {0, Phase::forward, {}, Route::two_d, 0}),
              ThrowsMessage<Refusal>(StrEq("exchange: two_d (layer 0, forward): no experts "
                                           "there: expected layer 1")));
}

TEST(Exchange, RefusesToBeDecidedTwice) {
  const Program whole = iteration(make_groups(4, 4, kTwoByTwo));
  const Program dispatched =
      apply(whole, Exchange{1, Phase::forward, Direction::dispatch, Route::two_d, 0});
  EXPECT_NO_THROW(
      apply(dispatched, Exchange{1, Phase::forward, Direction::combine, Route::one_d, 0}));
  for (const std::optional<Direction> again : {std::optional<Direction>{}, {Direction::dispatch}}) {
    EXPECT_THAT(
        [&] {
          apply(dispatched, Exchange{1, Phase::forward, again, Route::one_d, 0});
        },
        ThrowsMessage<Refusal>(::testing::HasSubstr("its exchange is decided already")));
  }
  // Also where both are flat there.
  const Program one_node = iteration(make_groups(4, 4));
  const Schedule twice{"",
                       {Exchange{1, Phase::forward, {}, Route::two_d, 0},
                        Exchange{1, Phase::forward, Direction::combine, Route::one_d, 0}}};
  EXPECT_THAT([&] { apply(one_node, twice); },
              ThrowsMessage<Refusal>(::testing::HasSubstr("its exchange is decided already")));
  const Program cut = apply(whole, PipelineSplit{1, Phase::forward, 2});
  EXPECT_THAT(
      [&] {
        apply(cut, Exchange{1, Phase::forward, {}, Route::two_d, 0});
      },
      ThrowsMessage<Refusal>(::testing::HasSubstr("is cut")));
}

TEST(Exchange, PrintsAndReadsItsJson) {
  const Schedule schedule{"hand",
                          {Exchange{1, Phase::forward, {}, Route::two_d, 0},
                           Exchange{1, Phase::backward, Direction::combine, Route::pairwise, 2}}};
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  EXPECT_EQ(to_json(schedule.decisions[1]),
            R"({"decision":"exchange","direction":"combine","layer":1,"phase":"backward",)"
            R"("ranks_per_group":2,"route":"pairwise"})");
  const auto refused = [](const std::string& fields) {
    try {
      schedule_from_json(
          R"({"decisions": [{"decision": "exchange", "layer": 1, "phase": "forward", )" + fields +
          "}]}");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused(R"("route": "one_d")"), "accepted");
  EXPECT_THAT(refused(R"("route": "three_d")"), ::testing::HasSubstr("three_d"));
  EXPECT_THAT(refused(R"("route": "pairwise")"), ::testing::HasSubstr("ranks_per_group"));
  EXPECT_THAT(refused(R"("route": "flat", "ranks_per_group": 2)"),
              ::testing::HasSubstr("ranks_per_group"));
  EXPECT_THAT(refused(R"("route": "flat", "direction": "home")"), ::testing::HasSubstr("home"));
}

}  // namespace
}  // namespace moe::exchange_test
