// How fast every op of a training step runs on one rank, against the floor that its FLOPs and its
// bytes set on this machine, and how much of the step is spent in matrix products.
//
//   kernel_bench [--device cpu|cuda] [--steps N] [--threads N] [MODEL]
//
// MODEL is a file or a name of experiments/models (default: real-small). Times are the best of N
// steps. The floor of an op is the larger of FLOPs / peak and bytes / bandwidth, peak and bandwidth
// being the best that a large GEMM and a large addition reach here; what fits into the caches can
// be below its floor.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
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

struct Line {
  std::string name;
  int calls = 0;
  double duration_s = 0, flops = 0, bytes = 0, floor_s = 0;
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
  const double add_s = best_s(backend, {&add, {view(0, n, 1), view(1, n, 1)}, {view(2, n, 1)}, {}});
  return {2.0 * side * side * side / linear_s, 12.0 * static_cast<double>(n) / add_s};
}

bool is_product(const Op& op) {
  return std::holds_alternative<Linear>(op.kind) ||
         std::holds_alternative<LinearInputGradient>(op.kind) ||
         std::holds_alternative<LinearWeightGradient>(op.kind) ||
         std::holds_alternative<ExpertLinear>(op.kind) ||
         std::holds_alternative<ExpertLinearInputGradient>(op.kind) ||
         std::holds_alternative<ExpertLinearWeightGradient>(op.kind);
}

void print(const std::string& name, int calls, double duration_s, double flops, double bytes,
           double floor_s) {
  fmt::print("{:<34} {:>5} {:>9.3f} {:>9.1f} {:>8.1f} {:>9.3f} {:>7.2f}\n", name, calls,
             duration_s * 1e3, flops / duration_s * 1e-9, bytes / duration_s * 1e-9, floor_s * 1e3,
             duration_s / floor_s);
}

void bench(Backend& backend, const Model& model, int steps) {
  const Machine machine = measure(backend);
  const Groups groups = make_groups(1, 1);
  const auto world = make_solo_communicator();
  RunOptions options;
  options.memory_limit_bytes = std::int64_t{8} << 30;
  Runner runner(build_iteration(model, groups, 0), groups, backend, *world, options);
  initialize_parameters(runner, model.seed);
  const Program& program = runner.program();
  const std::int64_t tokens = model.global_batch * model.sequence_length;
  std::vector<std::int32_t> ids(tokens);
  for (std::int64_t t = 0; t < tokens; ++t) {
    ids[t] = static_cast<std::int32_t>(t * t * 31 % model.vocabulary);
  }
  for (const TensorId tensor : {program.tokens.front(), program.targets.front()}) {
    runner.write(tensor, std::as_bytes(std::span(ids)));
  }

  std::vector<double> best(program.ops.size(), std::numeric_limits<double>::infinity());
  double step_s = std::numeric_limits<double>::infinity();
  IterationResult result;
  for (int step = 0; step < steps; ++step) {
    result = runner.iterate();
    step_s = std::min(step_s, result.end_s - result.begin_s);
    for (const OpSpan& span : result.spans) {
      best[span.op] = std::min(best[span.op], span.duration_s);
    }
  }

  const Binding binding = bind(program, result.routing, groups, 0);
  std::vector<Line> lines;
  Line total{"all ops"};
  double products_s = 0, attention_s = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (facts_of(op).executor != Executor::kernel) continue;  // nobody to talk to
    const Work work = work_of(program, op, binding, groups, 0);
    const double floor_s = std::max(work.flops / machine.flops_per_s,
                                    static_cast<double>(work.memory_bytes) / machine.bytes_per_s);
    const std::string name = op.phase == Phase::update
                                 ? std::string(kind_name(op))
                                 : fmt::format("{} {}", phase_name(op.phase), op.name);
    auto line = std::find_if(lines.begin(), lines.end(), [&](auto& l) { return l.name == name; });
    if (line == lines.end()) line = lines.insert(lines.end(), Line{name});
    for (Line* sum : {&*line, &total}) {
      ++sum->calls;
      sum->duration_s += best[i];
      sum->flops += work.flops;
      sum->bytes += static_cast<double>(work.memory_bytes);
      sum->floor_s += floor_s;
    }
    if (is_product(op)) products_s += best[i];
    if (std::holds_alternative<Attention>(op.kind) ||
        std::holds_alternative<AttentionGradient>(op.kind)) {
      attention_s += best[i];
    }
  }

  fmt::print("{}: {} tokens, model width {}, hidden width {}\n", backend.name(), tokens,
             model.d_model, model.d_hidden);
  fmt::print("peak {:.1f} GFLOP/s, bandwidth {:.1f} GB/s\n\n", machine.flops_per_s * 1e-9,
             machine.bytes_per_s * 1e-9);
  fmt::print("{:<34} {:>5} {:>9} {:>9} {:>8} {:>9} {:>7}\n", "op", "calls", "ms", "GFLOP/s", "GB/s",
             "floor ms", "x floor");
  for (const Line& line : lines) {
    print(line.name, line.calls, line.duration_s, line.flops, line.bytes, line.floor_s);
  }
  print(total.name, total.calls, total.duration_s, total.flops, total.bytes, total.floor_s);
  fmt::print(
      "\nstep {:.1f} ms; of the ops' time {:.1f}% linear layers and experts, {:.1f}% attention\n",
      step_s * 1e3, 100 * products_s / total.duration_s, 100 * attention_s / total.duration_s);
}

}  // namespace
}  // namespace moe

int main(int argc, char** argv) try {
  std::string device = "cpu", name = "real-small";
  int steps = 5, threads = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool more = i + 1 < argc;
    if (argument == "--device" && more) {
      device = argv[++i];
    } else if (argument == "--steps" && more) {
      steps = std::stoi(argv[++i]);
    } else if (argument == "--threads" && more) {
      threads = std::stoi(argv[++i]);
    } else if (argument.starts_with("-")) {
      fmt::print(stderr,
                 "usage: kernel_bench [--device cpu|cuda] [--steps N] [--threads N] [MODEL]\n");
      return argument == "-h" || argument == "--help" ? 0 : 2;
    } else {
      name = argument;
    }
  }
  const auto backend =
      device == "cuda" ? moe::make_cuda_backend(0) : moe::make_cpu_backend(threads);
  const auto file = moe::find_input(name, MOELAB_SOURCE_DIR "/experiments/models");
  moe::bench(*backend, moe::load_model(file), steps);
} catch (const std::exception& error) {
  fmt::print(stderr, "kernel_bench: {}\n", error.what());
  return 1;
}
