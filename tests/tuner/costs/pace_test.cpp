#include "tuner/costs/pace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "tests/tuner/small_program.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/simulate/simulate.h"

namespace tuner::pace_test {
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
struct RankPacesTest : ::testing::Test {
  CostModel costs;
  Observations seen;

  RankPacesTest() {
    costs.fits["linear[4x4]"] = of_unit("flop", 1);
    costs.fits["gelu"] = of_unit("byte", 0.5);
    costs.fits["fetch_rows"] = of_unit("byte", 3);
    for (const std::string kind : {"linear", "gelu", "fetch_rows"}) {
      seen.by_flops[kind] = kind == "linear";
      seen.copies[kind] = kind == "fetch_rows";
    }
    seen.kind_of = {
        {"linear[4x4]", "linear"}, {"gelu[8]", "gelu"}, {"fetch_rows[8]", "fetch_rows"}};
  }
};

TEST_F(RankPacesTest, AreMeasuredOverExpectedSecondsOfComputationAlone) {
  seen.compute["linear[4x4]"] = {alone(10, 12), alone(10, 16), beside_another(10, 500)};
  seen.compute["gelu[8]"] = {alone(20, 10)};
  seen.compute["fetch_rows[8]"] = {alone(1, 1000)};
  const auto ranks = rank_paces(seen, costs, false);
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_DOUBLE_EQ(ranks.at(0).by_flops, 28 / 20.0) << "without the op beside another";
  EXPECT_DOUBLE_EQ(ranks.at(0).by_bytes, 1);
  EXPECT_DOUBLE_EQ(ranks.at(0).all, 38 / 30.0) << "copies are no computation";
}

TEST_F(RankPacesTest, CountAllRanksTogetherWhereTheyShareProcessors) {
  seen.compute["linear[4x4]"] = {alone(10, 11, 0), alone(10, 14, 1)};
  const auto apart = rank_paces(seen, costs, false);
  EXPECT_DOUBLE_EQ(apart.at(0).all, 1.1);
  EXPECT_DOUBLE_EQ(apart.at(1).all, 1.4);
  const auto together = rank_paces(seen, costs, true);
  EXPECT_EQ(together.size(), 1u);
  EXPECT_DOUBLE_EQ(together.at(0).all, 1.25);
  EXPECT_DOUBLE_EQ(together.at(0).by_bytes, 1.25) << "none of its own";
}

TEST_F(RankPacesTest, AreAbsentWhereNoOpWasAlone) {
  seen.compute["linear[4x4]"] = {beside_another(10, 12)};
  EXPECT_TRUE(rank_paces(seen, costs, false).empty());
}

/// Iterations of the small layer on two nodes, at these paces of the ranks.
struct PacesTest : ::testing::Test {
  SmallLayer layer = small_layer();
  moe::Groups groups = two_nodes();
  moe::Routing routing = small_routing({{500, 500}, {500, 500}});
  CostModel costs = small_costs();
  Cluster cluster = small_cluster();

  moe::Timeline at(const moe::Program& program, const Paces& paces) const {
    ProgramCosts of_ranks = program_costs(program, groups, routing, costs, cluster);
    set_paces(program, paces, of_ranks);
    return simulate(program, of_ranks, costs, cluster);
  }
  std::vector<Paces> found(const std::vector<Paces>& truth,
                           const std::vector<SharedProcessors>& shared = {}) const {
    std::vector<MeasuredIteration> iterations;
    for (const Paces& paces : truth) {
      iterations.push_back(
          {&layer.program, bind_all(layer.program, groups, routing), at(layer.program, paces)});
    }
    return paces_of(iterations, groups, costs, shared);
  }
};

TEST_F(PacesTest, TheSlowerRankIsWaitedFor) {
  const double even_s = at(layer.program, {{1, 1, 1}, {1, 1, 1}}).duration_s;
  // Permute 1 s, experts 2 s and combine 0.5 s, all of them by bytes.
  for (const Paces& paces : {Paces{{1, 1.2, 1}, {1, 1, 1}}, Paces{{1, 1, 1}, {1, 1.2, 1}}}) {
    EXPECT_NEAR(at(layer.program, paces).duration_s, even_s + 0.2 * 3.5, 1e-9);
  }
  EXPECT_NEAR(at(layer.program, {{1.2, 1, 1}, {1, 1, 1}}).duration_s, even_s, 1e-9)
      << "nothing is by flops";
}

TEST_F(PacesTest, AreFoundInMeasuredIterations) {
  const std::vector<Paces> paces =
      found({{{1, 1.25, 1}, {1, 0.75, 1}}, {{1, 0.9, 1}, {1, 1.1, 1}}});
  ASSERT_EQ(paces.size(), 2u);
  EXPECT_NEAR(paces[0][0].by_bytes, 1.25, 1e-9);
  EXPECT_NEAR(paces[0][1].by_bytes, 0.75, 1e-9);
  EXPECT_NEAR(paces[1][1].by_bytes, 1.1, 1e-9);
}

TEST_F(PacesTest, LeaveOutHowFastAllRanksWereTogether) {
  // The second iteration was a half slower on both ranks, and as unequal as the first.
  const std::vector<Paces> paces =
      found({{{1, 1.2, 1}, {1, 0.8, 1}}, {{1, 1.8, 1}, {1, 1.2, 1}}, {{1, 1, 1}, {1, 1, 1}}});
  ASSERT_EQ(paces.size(), 3u);
  EXPECT_NEAR(paces[1][0].by_bytes, 1.2, 1e-9);
  EXPECT_NEAR(paces[1][1].by_bytes, 0.8, 1e-9);
}

TEST_F(PacesTest, AreAtMostSixteenSpreadOverAllIterations) {
  std::vector<Paces> truth;
  for (int i = 0; i < 40; ++i) truth.push_back({{1, 1 + i / 100.0, 1}, {1, 1 - i / 100.0, 1}});
  const std::vector<Paces> paces = found(truth);
  ASSERT_EQ(paces.size(), 16u);
  EXPECT_NEAR(paces.front()[0].by_bytes, 1, 1e-9);
  EXPECT_NEAR(paces.back()[0].by_bytes, 1.37, 1e-9);
}

TEST_F(PacesTest, AreNoneWhereRanksShareProcessors) {
  const SharedProcessors one_core{.seats = 1, .ranks = {0, 1}};
  EXPECT_TRUE(found({{{1, 1.2, 1}, {1, 0.8, 1}}}, {one_core}).empty());
}

TEST(SetPaces, OfAClassOfRanksAreThoseOfItsSlowest) {
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
  Paces paces(4);
  paces[2].by_flops = 1.5;
  paces[3].by_flops = 0.5;
  set_paces(program, paces, folded);
  EXPECT_DOUBLE_EQ(seconds_on(folded.ops[product], 0), 1.5 * before_s);
}

}  // namespace
}  // namespace tuner::pace_test
