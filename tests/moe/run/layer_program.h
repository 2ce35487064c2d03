#pragma once

#include "moe/program/program_builder.h"
#include "moe/run/runner.h"

/// One dropless layer of two tokens and two experts, a row of 4 columns to each, made of inputs
/// alone, for tests that look at how a runner goes through it.
namespace moe::test {

struct LayerProgram {
  ProgramBuilder build{DType::f32};
  TensorId x = build.parameter({"x", 2, 4});
  TensorId expert = build.input("expert", 2), slot = build.input("slot", 2),
           offsets = build.input("offsets", 3), demand = build.input("demand", 2);
  TensorId total = build.integers("total_demand", 1, 2);
  TensorId sent = build.routed("sent", Rows::sent, 0, 4, 0);
  TensorId received = build.routed("received", Rows::received, 0, 4, 0);
  TensorId produced = build.routed("produced", Rows::received, 0, 4, 0);
  TensorId returned = build.routed("returned", Rows::sent, 0, 4, 0);
  TensorId unrelated = build.activation("unrelated", 2, 4);

  /// exchange counts (host); permute, dispatch, experts, return; then an op of nothing routed.
  explicit LayerProgram(Stream of_unrelated = Stream::intra_node) {
    const Phase phase = Phase::forward;
    build.op(ExchangeCounts{2}, "exchange counts", {offsets, demand}, {total}, 0, phase);
    build.program.ops.back().stream = Stream::host;
    build.op(Permute{1}, "permute", {x, expert, slot, offsets}, {sent}, 0, phase);
    build.op(AllToAll{Direction::dispatch}, "dispatch", {sent}, {received}, 0, phase);
    build.op(Gelu{}, "experts", {received}, {produced}, 0, phase);
    build.op(AllToAll{Direction::combine}, "return", {produced}, {returned}, 0, phase);
    build.op(Gelu{}, "unrelated", {x}, {unrelated}, -1, phase);
    build.program.ops.back().stream = of_unrelated;
  }

  /// Token i goes to expert i.
  void write_inputs(Runner& runner) const {
    const auto write = [&](TensorId tensor, const std::vector<std::int32_t>& values) {
      runner.write(tensor, std::as_bytes(std::span(values)));
    };
    write(expert, {0, 1});
    write(slot, {0, 0});
    write(offsets, {0, 1, 2});
    write(demand, {1, 1});
    const std::vector<float> ones(8, 1.0f);
    runner.write(x, std::as_bytes(std::span(ones)));
  }
};

}  // namespace moe::test
