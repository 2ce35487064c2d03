// How fast every op of a training step runs on one rank, against the floor that its FLOPs and its
// bytes set on this machine.
//
//   kernel_bench [--device cpu|cuda] [--threads N] [MODEL] [--benchmark_...]
//
// MODEL is a file or a name of experiments/models (default: real-small). Each repetition is a step,
// 5 unless --benchmark_repetitions says otherwise; a line has all ops of one name. x_floor is its
// time over its floor. The floor of an op is the larger of FLOPs / peak and bytes / bandwidth,
// where peak and bandwidth are the best that a large GEMM and a large addition reach here. What
// fits into the caches can be below its floor.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "moe/run/runner.h"
#include "moe/train/initialize.h"

namespace moe {
namespace {

/// The ops of one name.
struct Line {
  std::string name;
  std::vector<int> ops;
  double flops = 0, bytes = 0, floor_s = 0;
};

struct Machine {
  double flops_per_s = 0, bytes_per_s = 0;
};

/// Best of a few executions, in seconds.
double best_s(Backend& backend, const BoundOp& op) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 8; ++i) {
    const Mark begin = backend.mark(Stream::compute);
    backend.execute(op);
    const Mark end = backend.mark(Stream::compute);
    best = std::min(best, backend.time_of(end) - backend.time_of(begin));
  }
  return best;
}

Machine measure(Backend& backend) {
  const std::int64_t side = 2048, n = std::int64_t{16} << 20;
  std::byte* base = backend.arena(3 * n * 4);
  const auto view = [&](int i, std::int64_t rows, std::int64_t columns) {
    return View{base + i * n * 4, DType::f32, rows, columns};
  };
  const std::vector<float> ones(n, 1.0f);
  for (int i = 0; i < 3; ++i) {
    backend.upload(base + i * n * 4, std::as_bytes(std::span(ones)), Stream::compute);
  }
  const Op linear{Linear{}, {}, {}, "peak"}, add{Add{}, {}, {}, "bandwidth"};
  const auto square = [&](int i) { return view(i, side, side); };
  const double linear_s = best_s(backend, {&linear, {square(0), square(1)}, {square(2)}, {}});
  const double add_s =
      best_s(backend, {&add, {view(0, n, 1), view(1, n, 1)}, {view(2, n, 1)}, {{0, n}}});
  return {2.0 * side * side * side / linear_s, 12.0 * static_cast<double>(n) / add_s};
}

/// A training step of a model, as often as asked for.
class Steps {
 public:
  Steps(Backend& backend, const Model& model)
      : machine_(measure(backend)),
        groups_(make_groups(1, 1)),
        world_(make_solo_communicator()),
        runner_(build_iteration(model, groups_, 0), groups_, backend, *world_,
                {.memory_limit_bytes = std::int64_t{8} << 30}) {
    initialize_parameters(runner_, model.seed);
    const Program& program = runner_.program();
    std::vector<std::int32_t> ids(model.global_batch * model.sequence_length);
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(ids.size()); ++t) {
      ids[t] = static_cast<std::int32_t>(t * t * 31 % model.vocabulary);
    }
    for (const TensorId tensor : {program.tokens.front(), program.targets.front()}) {
      runner_.write(tensor, std::as_bytes(std::span(ids)));
    }
    runner_.iterate();  // warms up, and routes
  }

  const Machine& machine() const { return machine_; }

  /// How long each op of step `i` took, in seconds. Steps are run when they are first asked for.
  const std::vector<double>& op_seconds(std::size_t i) {
    while (steps_.size() <= i) run_step();
    return steps_[i];
  }
  double step_seconds(std::size_t i) {
    op_seconds(i);
    return whole_s_[i];
  }

  /// All ops that are kernels: first all of them together, then by name.
  std::vector<Line> lines() {
    const Program& program = runner_.program();
    const Binding binding = bind(program, runner_.iterate().routing, groups_, 0);
    std::vector<Line> lines{{"all ops", {}}};
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      if (facts_of(op).executor != Executor::kernel) continue;  // nobody to talk to
      const Work work = work_of(program, op, binding, groups_, 0);
      const double floor_s =
          std::max(work.flops / machine_.flops_per_s,
                   static_cast<double>(work.memory_bytes) / machine_.bytes_per_s);
      const std::string name = op.phase == Phase::update
                                   ? std::string(kind_name(op))
                                   : fmt::format("{}/{}", phase_name(op.phase), op.name);
      auto line = std::find_if(lines.begin(), lines.end(), [&](auto& l) { return l.name == name; });
      if (line == lines.end()) line = lines.insert(lines.end(), Line{name, {}});
      for (Line* of : {&*line, &lines.front()}) {
        of->ops.push_back(static_cast<int>(i));
        of->flops += work.flops;
        of->bytes += static_cast<double>(work.memory_bytes);
        of->floor_s += floor_s;
      }
    }
    return lines;
  }

 private:
  void run_step() {
    const IterationResult result = runner_.iterate();
    std::vector<double> seconds(runner_.program().ops.size(), 0);
    for (const OpSpan& span : result.spans) seconds[span.op] = span.duration_s;
    steps_.push_back(std::move(seconds));
    whole_s_.push_back(result.end_s - result.begin_s);
  }

  Machine machine_;
  Groups groups_;
  std::unique_ptr<Communicator> world_;
  Runner runner_;
  std::vector<std::vector<double>> steps_;  ///< by step, by op
  std::vector<double> whole_s_;
};

double smallest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

/// An iteration is a step, and its time what `seconds` says of it: all lines have the same steps.
template <typename Seconds>
void add_benchmark(const std::string& name, const Line& line, const Seconds& seconds) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [line, seconds, step = std::size_t{0}](auto& state) mutable {
                                 double last_s = 0;
                                 for (auto _ : state)
                                   state.SetIterationTime(last_s = seconds(step++));
                                 using benchmark::Counter;
                                 constexpr auto kRate = Counter::kIsIterationInvariantRate;
                                 state.counters["FLOPS"] = Counter(line.flops, kRate);
                                 state.counters["bytes/s"] = Counter(line.bytes, kRate);
                                 state.counters["x_floor"] = last_s / line.floor_s;
                                 state.counters["ops"] = static_cast<double>(line.ops.size());
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond)
      ->ComputeStatistics("min", smallest);
}

}  // namespace
}  // namespace moe

int main(int argc, char** argv) try {
  // The last of two options with one name holds.
  std::string repetitions = "--benchmark_repetitions=5",
              aggregates = "--benchmark_display_aggregates_only=true";
  std::vector<char*> arguments{argv[0], repetitions.data(), aggregates.data()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data(), [] {
    fmt::print("usage: kernel_bench [--device cpu|cuda] [--threads N] [MODEL] [--benchmark_...]\n");
    benchmark::PrintDefaultHelp();
  });
  std::string device = "cpu", name = "real-small";
  int threads = 1;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const bool more = i + 1 < count;
    if (argument == "--device" && more) {
      device = arguments[++i];
    } else if (argument == "--threads" && more) {
      threads = std::stoi(arguments[++i]);
    } else if (argument.starts_with("-")) {
      fmt::print(stderr, "kernel_bench: {}: expected --device, --threads or --benchmark_...\n",
                 argument);
      return 2;
    } else {
      name = argument;
    }
  }
  const auto backend = device == "cuda" ? moe::make_cuda_backend(0)
                                        : moe::make_cpu_backend(threads, moe::Waiting::awake);
  const auto file = moe::find_input(name, MOELAB_SOURCE_DIR "/experiments/models");
  moe::Steps steps(*backend, moe::load_model(file));
  benchmark::AddCustomContext("model", name);
  benchmark::AddCustomContext("backend", backend->name());
  benchmark::AddCustomContext("peak GFLOP/s",
                              fmt::format("{:.1f}", steps.machine().flops_per_s * 1e-9));
  benchmark::AddCustomContext("bandwidth GB/s",
                              fmt::format("{:.1f}", steps.machine().bytes_per_s * 1e-9));
  const std::vector<moe::Line> lines = steps.lines();
  moe::add_benchmark("step", lines.front(), [&](std::size_t i) { return steps.step_seconds(i); });
  for (const moe::Line& line : lines) {
    moe::add_benchmark(line.name, line, [&steps, ops = line.ops](std::size_t i) {
      double sum = 0;
      for (const int op : ops) sum += steps.op_seconds(i)[static_cast<std::size_t>(op)];
      return sum;
    });
  }
  benchmark::RunSpecifiedBenchmarks();
} catch (const std::exception& error) {
  fmt::print(stderr, "kernel_bench: {}\n", error.what());
  return 1;
}
