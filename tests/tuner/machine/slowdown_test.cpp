#include "tuner/machine/slowdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tests/tuner/small_program.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/simulate/simulate.h"

namespace tuner::slowdown_test {
namespace {

using namespace test;

Observation alone(double units, double seconds, int rank = 0) {
  return {{1, units, seconds}, {}, rank};
}

Observation beside_another(double units, double seconds) {
  Observation observation = alone(units, seconds);
  observation.beside.any = 0.5 * seconds;
  return observation;
}

LinearFit of_unit(const char* unit, double beta_s_per_unit) {
  LinearFit fit;
  fit.unit = unit;
  fit.beta_s_per_unit = beta_s_per_unit;
  return fit;
}

/// linear: 1 s per flop; gelu: 0.5 s per byte; fetch_rows copies.
struct RankSlowdownsTest : ::testing::Test {
  CostModel costs;
  Observations seen;

  RankSlowdownsTest() {
    costs.fits["linear[4x4]"] = of_unit("flop", 1);
    costs.fits["gelu"] = of_unit("byte", 0.5);
    costs.fits["fetch_rows"] = of_unit("byte", 3);
    seen.compute["linear[4x4]"] = {"linear", false, true, {}};
    seen.compute["gelu[8]"] = {"gelu", false, false, {}};
    seen.compute["fetch_rows[8]"] = {"fetch_rows", true, false, {}};
  }
};

TEST_F(RankSlowdownsTest, AreMeasuredOverExpectedSecondsOfComputationAlone) {
  seen.compute["linear[4x4]"].all = {alone(10, 12), alone(10, 16), beside_another(10, 500)};
  seen.compute["gelu[8]"].all = {alone(20, 10)};
  seen.compute["fetch_rows[8]"].all = {alone(1, 1000)};
  const auto ranks = slowdowns_in(seen, costs, 1, {});
  ASSERT_TRUE(ranks);
  EXPECT_DOUBLE_EQ(ranks->at(0), 38 / 30.0) << "without copies and without the op beside another";
}

TEST_F(RankSlowdownsTest, CountAllRanksTogetherWhereTheyShareProcessors) {
  seen.compute["linear[4x4]"].all = {alone(10, 11, 0), alone(10, 14, 1)};
  EXPECT_EQ(slowdowns_in(seen, costs, 2, {}), (Slowdowns{1.1, 1.4}));
  const SharedProcessors one_core{.seats = 1, .ranks = {0, 1}};
  EXPECT_EQ(slowdowns_in(seen, costs, 2, {one_core}), (Slowdowns{1.25, 1.25}));
}

TEST_F(RankSlowdownsTest, AreNoneWhereARankHasNoOpThatWasAlone) {
  seen.compute["linear[4x4]"].all = {beside_another(10, 12)};
  EXPECT_FALSE(slowdowns_in(seen, costs, 1, {}));
  seen.compute["linear[4x4]"].all = {alone(10, 12)};
  EXPECT_FALSE(slowdowns_in(seen, costs, 2, {}));
}

/// Iterations of the small layer on two nodes, at these slowdowns of the ranks.
struct SlowdownsTest : ::testing::Test {
  moe::Groups groups = two_nodes();
  SmallLayer layer = [this] {
    SmallLayer of_two = small_layer();
    of_two.program.groups = groups;
    return of_two;
  }();
  moe::Routing routing = small_routing({{500, 500}, {500, 500}});
  CostModel costs = small_costs();
  Cluster cluster = small_cluster();

  moe::Timeline at(const moe::Program& program, const Slowdowns& slowdowns) const {
    ProgramCosts of_ranks = program_costs(program, groups, routing, costs, cluster);
    set_slowdowns(slowdowns, of_ranks);
    return simulate(program, of_ranks, costs, cluster);
  }
  std::vector<Slowdowns> found(const std::vector<Slowdowns>& truth,
                               const std::vector<SharedProcessors>& shared = {}) const {
    std::vector<MeasuredIteration> iterations;
    for (const Slowdowns& slowdowns : truth) {
      iterations.push_back({&layer.program, routing, at(layer.program, slowdowns)});
    }
    return slowdowns_of(iterations, costs, shared);
  }
};

TEST_F(SlowdownsTest, TheSlowerRankIsWaitedFor) {
  const double even_s = at(layer.program, {1, 1}).duration_s;
  // Permute 1 s, experts 2 s and combine 0.5 s.
  for (const Slowdowns& slowdowns : {Slowdowns{1.2, 1}, Slowdowns{1, 1.2}}) {
    EXPECT_NEAR(at(layer.program, slowdowns).duration_s, even_s + 0.2 * 3.5, 1e-9);
  }
}

TEST_F(SlowdownsTest, AreFoundInMeasuredIterations) {
  const std::vector<Slowdowns> slowdowns = found({{1.25, 0.75}, {0.9, 1.1}});
  ASSERT_EQ(slowdowns.size(), 2u);
  EXPECT_NEAR(slowdowns[0][0], 1.25, 1e-9);
  EXPECT_NEAR(slowdowns[0][1], 0.75, 1e-9);
  EXPECT_NEAR(slowdowns[1][1], 1.1, 1e-9);
}

TEST_F(SlowdownsTest, LeaveOutHowFastAllRanksWereTogether) {
  // As unequal as each other, and together at 0.5, 1.1 and 2 times the time of the fits.
  const std::vector<Slowdowns> slowdowns = found({{0.6, 0.4}, {1.32, 0.88}, {2.4, 1.6}});
  ASSERT_EQ(slowdowns.size(), 3u);
  for (const Slowdowns& of_ranks : slowdowns) {
    EXPECT_NEAR(of_ranks[0], 1.32, 1e-9) << "of the median iteration";
    EXPECT_NEAR(of_ranks[1], 0.88, 1e-9);
  }
}

TEST_F(SlowdownsTest, AreAtMostSixteenSpreadOverAllIterations) {
  std::vector<Slowdowns> truth;
  for (int i = 0; i < 40; ++i) truth.push_back({1 + i / 100.0, 1 - i / 100.0});
  const std::vector<Slowdowns> slowdowns = found(truth);
  ASSERT_EQ(slowdowns.size(), 16u);
  EXPECT_NEAR(slowdowns.front()[0], 1, 1e-9);
  EXPECT_NEAR(slowdowns.back()[0], 1.37, 1e-9);
}

TEST_F(SlowdownsTest, AreOfIterationsInWhichMostComputationRanAlone) {
  // Experts of 2 s beside a layer norm of 4 s on another stream.
  SmallLayer overlapped = small_layer(true);
  overlapped.program.groups = groups;
  for (moe::Op& op : overlapped.program.ops) {
    if (op.name == "unrelated") op.stream = moe::Stream::intra_node;
  }
  const MeasuredIteration beside{&overlapped.program, routing, at(overlapped.program, {1.5, 1})};
  EXPECT_TRUE(slowdowns_of(std::vector{beside}, costs, {}).empty());
  const MeasuredIteration alone{&layer.program, routing, at(layer.program, {1.2, 0.8})};
  const auto found = slowdowns_of(std::vector{beside, alone, beside}, costs, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0][0], 1.2, 1e-9);
}

TEST_F(SlowdownsTest, AreNoneOfASingleRank) {
  const moe::Groups one = moe::make_groups(1, 1, {0});
  moe::Program program = layer.program;
  program.groups = one;
  const moe::Routing rows = small_routing({{500, 500}});
  ProgramCosts of_rank = program_costs(program, one, rows, costs, cluster);
  const MeasuredIteration iteration{&program, rows, simulate(program, of_rank, costs, cluster)};
  EXPECT_TRUE(slowdowns_of(std::vector{iteration}, costs, {}).empty());
}

TEST_F(SlowdownsTest, OfOtherRanksThanTheCostsAreABug) {
  ProgramCosts of_ranks = program_costs(layer.program, groups, routing, costs, cluster);
  for (const std::size_t ranks : {0u, 1u, 3u}) {
    EXPECT_THROW(set_slowdowns(Slowdowns(ranks, 1), of_ranks), std::invalid_argument);
  }
}

TEST_F(SlowdownsTest, AreNoneWhereRanksShareProcessors) {
  const SharedProcessors one_core{.seats = 1, .ranks = {0, 1}};
  EXPECT_TRUE(found({{1.2, 0.8}}, {one_core}).empty());
}

TEST(SetSlowdowns, OfAClassOfRanksAreThoseOfItsSlowest) {
  const moe::Groups groups = moe::make_groups(4, 4, {0, 1, 2, 3});
  moe::Model model;
  model.experts = 4;
  model.global_batch = 4;
  const moe::Program program = moe::build_iteration(model, groups, 0);
  Cluster cluster = small_cluster();
  cluster.nodes = 4;
  ProgramCosts folded = program_costs(program, groups, make_routing("uniform", program, groups, 1),
                                      plain_costs(), cluster, {.most_single = 1});
  ASSERT_EQ(folded.classes.rank_of.size(), 1u);
  const auto product = std::ranges::find_if(program.ops, costs_by_flops) - program.ops.begin();
  const double before_s = seconds_on(folded.ops[product], 0);
  set_slowdowns({1, 1, 1.5, 0.5}, folded);
  EXPECT_DOUBLE_EQ(seconds_on(folded.ops[product], 0), 1.5 * before_s);
}

}  // namespace
}  // namespace tuner::slowdown_test
