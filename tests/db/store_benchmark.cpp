#include <benchmark/benchmark.h>

#include "db/load.h"
#include "db/store.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

// How many rows a second the store writes and reads: the acceptance is a million spans in seconds.
namespace db {
namespace {

TimelineInfo of_run(std::int64_t run_id) {
  TimelineInfo timeline;
  timeline.run_id = run_id;
  timeline.kind = "measured";
  return timeline;
}

std::vector<Span> many_spans(std::int64_t count) {
  std::vector<Span> spans;
  for (int i = 0; i < count; ++i) {
    spans.push_back(make_span(static_cast<int>(i / (count / 8)), i % 3, i * 1e-6, 1e-6, 4096));
  }
  return spans;
}

void insert_spans(benchmark::State& state) {
  const TemporaryDirectory directory;
  auto connection = open_writer(directory.file("a.db"));
  const auto sample = store_sample(connection);
  const auto spans = many_spans(state.range(0));
  for (auto _ : state) insert(connection, of_run(sample.run), sample_ops(), spans);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(insert_spans)->Arg(10000)->Arg(1000000)->Unit(benchmark::kMillisecond)->UseRealTime();

void read_spans(benchmark::State& state) {
  const TemporaryDirectory directory;
  auto connection = open_writer(directory.file("a.db"));
  const auto sample = store_sample(connection);
  const auto id = insert(connection, of_run(sample.run), sample_ops(), many_spans(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(load_spans(connection, id));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_spans)->Arg(1000000)->Unit(benchmark::kMillisecond)->UseRealTime();

void insert_loads(benchmark::State& state) {  // 12 layers x 8 ranks x 16 experts: one iteration
  const TemporaryDirectory directory;
  auto connection = open_writer(directory.file("a.db"));
  const auto sample = store_sample(connection);
  std::vector<Load> loads;
  for (int i = 0; i < 12 * 8 * 16; ++i) {
    loads.push_back({sample.run, 0, i / 128, i / 16 % 8, i % 16, i});
  }
  int iteration = 1000;
  for (auto _ : state) {
    for (Load& load : loads) load.iteration = iteration;
    ++iteration;
    insert(connection, loads);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(loads.size()));
}
BENCHMARK(insert_loads)->Unit(benchmark::kMicrosecond)->UseRealTime();

void heartbeat(benchmark::State& state) {
  const TemporaryDirectory directory;
  auto connection = open_writer(directory.file("a.db"));
  const auto sample = store_sample(connection);
  for (auto _ : state) heartbeat_run(connection, sample.run);
}
BENCHMARK(heartbeat)->Unit(benchmark::kMicrosecond)->UseRealTime();

void list_runs(benchmark::State& state) {  // the newest 100 of 10 000
  const TemporaryDirectory directory;
  auto connection = open_writer(directory.file("a.db"));
  const auto machine = find_or_insert(connection, sample_machine());
  for (int i = 0; i < 10000; ++i) insert(connection, sample_run(machine));
  RunFilter filter;
  filter.limit = 100;
  for (auto _ : state) benchmark::DoNotOptimize(load_runs(connection, filter));
}
BENCHMARK(list_runs)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace db
