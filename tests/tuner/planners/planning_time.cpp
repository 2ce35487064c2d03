// How long planning takes. Of one MoE layer: FSMoE's SLSQP took 193 ms [FSMoE 6.2], Pro-Prophet
// plans while it trains. Of a model: Lancet took under 20 minutes, costs measured meanwhile [Lancet
// 7]; here costs are known.
//     build/release/bin/planning_time
#include <benchmark/benchmark.h>

#include <random>
#include <utility>
#include <vector>

#include "moe/rows/balance.h"
#include "moe/rows/late_rules.h"
#include "moe/rows/row_shares.h"
#include "tests/tuner/planners/fsmoe/drawn_phase.h"
#include "tests/tuner/planners/fsmoe/fsmoe_replay.h"
#include "tests/tuner/planners/fsmoe/slsqp_degree.h"
#include "tests/tuner/planners/pro_prophet/drawn_costs.h"
#include "tuner/planners/fsmoe/fsmoe.h"
#include "tuner/planners/lplb/lplb.h"
#include "tuner/planners/planners.h"
#include "tuner/planners/pro_prophet/greedy_placement.h"
#include "tuner/scenario/scenario.h"

namespace tuner {
namespace {

constexpr int kMostChunks = 8;

using test::backward_experts;
using test::degree_by_replay;
using test::degree_by_slsqp;

using ChooseDegree = ChosenDegree (*)(const MoePhase&, int);

/// Forward and backward degree of one layer after another.
void plan_layer(benchmark::State& state, ChooseDegree choose) {
  std::mt19937 random(1);
  std::vector<MoePhase> layers;
  for (int i = 0; i < 256; ++i) layers.push_back(test::draw_phase(random, true));
  std::size_t next = 0;
  for (auto _ : state) {
    const MoePhase& forward = layers[next++ % layers.size()];
    MoePhase backward = forward;
    backward.exp = backward_experts(forward.exp);
    benchmark::DoNotOptimize(choose(forward, kMostChunks));
    benchmark::DoNotOptimize(choose(backward, kMostChunks));
  }
}
BENCHMARK_CAPTURE(plan_layer, slsqp, degree_by_slsqp)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan_layer, all_by_equations, degree_by_equations)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(plan_layer, all_by_replay, degree_by_replay)->Unit(benchmark::kMicrosecond);

/// Pro-Prophet's search for one layer of as many experts as ranks, popularity ~ 1 / place^skew,
/// another one from every rank; state.range: ranks, 10 skew. From the layer's routing to a
/// placement.
void place_experts(benchmark::State& state, Transfers transfers) {
  const int ranks = static_cast<int>(state.range(0));
  const double skew = static_cast<double>(state.range(1)) / 10;
  const moe::Groups groups = moe::make_groups(ranks, ranks);
  std::mt19937 random(1);
  std::vector<moe::LayerRouting> layers;
  std::vector<ProProphetCosts> costs;
  for (int i = 0; i < 64; ++i) {
    layers.push_back(moe::zipf_routing(i, ranks, ranks, 1024, skew, random()));
    for (auto& of_rank : layers.back().tokens) {
      for (std::int64_t& tokens : of_rank) tokens = tokens * static_cast<int>(random() % 64) / 32;
    }
    costs.push_back(test::draw_costs(random, ranks));
    for (RouteCost& route : costs.back().routes) {
      for (TransferCost* cost : {&route.trans, &route.agg}) cost->across.expert_s /= 10;
    }
  }
  std::size_t next = 0;
  int moved = 0;
  for (auto _ : state) {
    const std::size_t layer = next++ % layers.size();
    const auto found =
        greedy_placement(grouped_rows(layers[layer], groups), costs[layer], {transfers});
    moved += static_cast<int>(found.placement.replicas.size());
  }
  state.counters["experts_moved"] = benchmark::Counter(moved, benchmark::Counter::kAvgIterations);
}
BENCHMARK_CAPTURE(place_experts, blocking, Transfers::blocking)
    ->ArgNames({"ranks", "skew"})
    ->ArgsProduct({{16, 64}, {0, 5, 12}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(place_experts, overlapped, Transfers::overlapped)
    ->ArgNames({"ranks", "skew"})
    ->ArgsProduct({{16, 64}, {0, 5, 12}})
    ->Unit(benchmark::kMicrosecond);

/// Rules after the gate: from the counts of a layer to the rows that every rank computes of every
/// other, experts of popularity ~ 1 / place^skew; state.range: ranks, experts, 10 skew. The replicas
/// of `balanced` and `interior_point` are LPLB's on a ring.
void share_out(benchmark::State& state, moe::LateCopies late,
               moe::BalancedBy solver = moe::BalancedBy::optimum) {
  const int ranks = static_cast<int>(state.range(0)), experts = static_cast<int>(state.range(1));
  const moe::Groups groups = moe::make_groups(ranks, ranks);
  struct Layer {
    moe::LayerRouting routing;
    moe::ExpertPlacement placement;
  };
  std::vector<Layer> layers;
  for (int i = 0; i < 16; ++i) {
    Layer& layer = layers.emplace_back();
    layer.routing = moe::zipf_routing(i, ranks, experts, 32768,
                                      static_cast<double>(state.range(2)) / 10, 1 + i);
    layer.placement = {{}, moe::RowsOfOthers::balanced, {}, {}, late};
    if (late.slots == 0) {
      layer.placement = lplb_placement(grouped_rows(layer.routing, groups), ring_owners(ranks, 2));
      layer.placement.balanced_by = solver;
    }
  }
  std::size_t next = 0;
  for (auto _ : state) {
    const Layer& layer = layers[next++ % layers.size()];
    const moe::SharesByCopy::OfCopy shares(layer.placement, layer.routing, groups, 0);
    benchmark::DoNotOptimize(shares.rows.rows(0, 0, 0, 0));
  }
}
const auto rule_sizes = [](benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"ranks", "experts", "skew"})->Unit(benchmark::kMicrosecond);
  for (const auto& [ranks, experts] : {std::pair{4, 16}, {16, 64}, {64, 256}, {256, 256}}) {
    benchmark->Args({ranks, experts, 8})->Args({ranks, experts, 12});
  }
};
BENCHMARK_CAPTURE(share_out, ultraep_1_slot, {moe::LateRule::ultraep, 1})->Apply(rule_sizes);
BENCHMARK_CAPTURE(share_out, ultraep_2_slots, {moe::LateRule::ultraep, 2})->Apply(rule_sizes);
BENCHMARK_CAPTURE(share_out, moonep, {moe::LateRule::moonep, 4})->Apply(rule_sizes);
BENCHMARK_CAPTURE(share_out, llep, {moe::LateRule::llep, 4})->Apply(rule_sizes);
BENCHMARK_CAPTURE(share_out, balanced, {})->Apply(rule_sizes);
BENCHMARK_CAPTURE(share_out, interior_point, {}, moe::BalancedBy::interior_point)
    ->Apply(rule_sizes);

/// The plan alone of a rule that chooses replicas, for the same.
void choose_replicas(benchmark::State& state, moe::LateCopies late) {
  const int ranks = static_cast<int>(state.range(0)), experts = static_cast<int>(state.range(1));
  std::vector<std::vector<std::int64_t>> layers;
  for (int i = 0; i < 16; ++i) {
    layers.push_back(moe::expert_tokens(moe::zipf_routing(
        i, ranks, experts, 32768, static_cast<double>(state.range(2)) / 10, 1 + i)));
  }
  const std::vector<int> homes = moe::homes_in_order(experts, ranks);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(moe::late_plan(late, layers[next++ % layers.size()], homes, ranks));
  }
}
BENCHMARK_CAPTURE(choose_replicas, ultraep_1_slot, {moe::LateRule::ultraep, 1})->Apply(rule_sizes);
BENCHMARK_CAPTURE(choose_replicas, ultraep_2_slots, {moe::LateRule::ultraep, 2})->Apply(rule_sizes);
BENCHMARK_CAPTURE(choose_replicas, moonep, {moe::LateRule::moonep, 4})->Apply(rule_sizes);
BENCHMARK_CAPTURE(choose_replicas, llep, {moe::LateRule::llep, 4})->Apply(rule_sizes);

/// All of a model, from its Program to a Schedule.
void plan_model(benchmark::State& state, const char* planner, const char* model,
                const char* cluster, int ranks) {
  const Scenario scenario = load_scenario(
      {.model = model, .cluster = cluster, .database = {}, .ranks = ranks, .layout = {}});
  const Situation situation = scenario.situation();
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan_with(planner_named(planner), situation, {}));
  }
  state.counters["ops"] = static_cast<double>(scenario.program.ops.size());
}
BENCHMARK_CAPTURE(plan_model, lancet_24_blocks, "lancet", "gpt2-l-moe", "fsmoe-testbed-b", 32)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan_model, joint_box_small, "joint", "box-small", "box", 4)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tuner

BENCHMARK_MAIN();
