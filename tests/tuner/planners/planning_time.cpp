// How long planning one MoE layer takes. FSMoE's SLSQP took 193 ms per layer [FSMoE 6.2].
//     build/release/bin/planning_time
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "tests/tuner/planners/fsmoe/drawn_phase.h"
#include "tuner/planners/fsmoe/fsmoe_degree.h"

namespace tuner {
namespace {

constexpr int kMostChunks = 8;

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

}  // namespace
}  // namespace tuner

BENCHMARK_MAIN();
