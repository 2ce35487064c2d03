// How long a prediction takes: 24 MoE layers, an expert for each rank, on nodes of 8 ranks as those
// of FSMoE's testbed A. `predict` is everything after the schedule; `simulate` is the events alone.
//     build/release/bin/prediction_time
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <string>

#include "moe/model/iteration.h"
#include "moe/source_tree.h"
#include "tuner/planners/planners.h"
#include "tuner/scenario/routing_spec.h"
#include "tuner/scenario/scenario.h"
#include "tuner/simulate/simulate.h"
#include "tuner/study/prediction.h"

namespace tuner {
namespace {

Scenario scenario_of(int ranks, const std::string& routing) {
  Scenario scenario;
  moe::Model& model = scenario.model;
  model.name = "24 layers";
  model.sequence_length = 1024;
  model.d_model = 1024;
  model.d_hidden = 4096;
  model.heads = 16;
  model.blocks = 24;
  model.moe_every = 1;
  model.experts = ranks;
  model.choices = 2;
  model.capacity_factor = 1.2;
  model.global_batch = ranks;
  CostedCluster costed =
      load_cluster(moe::source_tree() / "experiments" / "clusters" / "fsmoe-testbed-a.toml");
  scenario.cluster = costed.cluster;
  scenario.cluster.nodes = ranks / scenario.cluster.ranks_per_node;
  scenario.costs = costed.costs;
  scenario.groups = groups_of(scenario.cluster, moe::Layout{1, ranks, 1});
  scenario.program = moe::build_iteration(model, scenario.groups, 0);
  scenario.routing = make_routing(routing, scenario.program, scenario.groups, 1);
  return scenario;
}

double most_memory_mb() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

void predict_all(benchmark::State& state, const char* routing) {
  const Scenario scenario = scenario_of(static_cast<int>(state.range(0)), routing);
  const Situation situation = scenario.situation();
  const Planner& tutel = planner_named("tutel");
  double spans = 0;
  for (auto _ : state) {
    const Prediction prediction = predict(situation, tutel, tutel.plan(situation, {}));
    spans = static_cast<double>(prediction.program.ops.size()) * scenario.groups.ranks;
  }
  state.counters["op_spans"] =
      benchmark::Counter(spans, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["most_MB"] = most_memory_mb();  // of the process so far
}
BENCHMARK_CAPTURE(predict_all, even, "uniform")
    ->ArgName("ranks")
    ->RangeMultiplier(8)
    ->Range(64, 32768)
    ->Arg(131072)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(predict_all, skewed, "zipf:1.1")
    ->ArgName("ranks")
    ->RangeMultiplier(4)
    ->Range(64, 16384)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

void simulate_alone(benchmark::State& state) {
  const Scenario scenario = scenario_of(static_cast<int>(state.range(0)), "zipf:1.1");
  const Situation situation = scenario.situation();
  const moe::Program program =
      moe::apply(scenario.program, planner_named("tutel").plan(situation, {}));
  const ProgramCosts costs =
      program_costs(program, scenario.groups, scenario.routing, scenario.costs, scenario.cluster);
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulate(program, costs, scenario.costs, scenario.cluster));
  }
  state.counters["op_spans"] = benchmark::Counter(
      static_cast<double>(program.ops.size()) * static_cast<double>(costs.classes.rank_of.size()),
      benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(simulate_alone)
    ->ArgName("ranks")
    ->Arg(64)
    ->Arg(1024)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace tuner

BENCHMARK_MAIN();
