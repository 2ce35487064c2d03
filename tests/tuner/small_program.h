#pragma once

#include "moe/program/program_builder.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tests/tuner/line.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"

/// One MoE layer as small as it gets, with costs that make every time a round number.
namespace tuner::test {

inline constexpr std::int64_t kColumns = 250;   ///< a routed row is 1000 bytes
inline constexpr double kSecondsPerRow = 1e-3;  ///< on the wire: 1 MB/s
/// The exchange of counts: 2 numbers for each of 2 experts, of 4 bytes, at 1 MB/s.
inline constexpr double kExchange_s = 16e-6;

struct SmallLayer {
  moe::Program program;
  moe::TensorId unrelated = -1;
};

/// exchange, permute, dispatch, gelu (the experts), combine exchange, combine; then a "layer_norm"
/// of something unrelated when asked for. `rows` of two experts on two ranks.
inline SmallLayer small_layer(bool with_unrelated = false, moe::Phase phase = moe::Phase::forward) {
  using namespace moe;
  ProgramBuilder build(DType::f32);
  const TensorId x = build.activation("x", 8, kColumns);
  const TensorId offsets = build.integers("offsets", 1, 3);
  const TensorId demand = build.integers("demand", 1, 2);
  const TensorId total = build.integers("total_demand", 1, 2);
  const TensorId sent = build.routed("sent", Rows::sent, 0, kColumns, 0);
  const TensorId received = build.routed("received", Rows::received, 0, kColumns, 0);
  const TensorId produced = build.routed("produced", Rows::received, 0, kColumns, 0);
  const TensorId returned = build.routed("returned", Rows::sent, 0, kColumns, 0);
  const TensorId y = build.activation("y", 8, kColumns);
  const TensorId a = build.activation("a", 8, kColumns);
  const TensorId b = build.activation("b", 8, kColumns);
  // Makes what the layer reads; it costs nothing here.
  const TensorId ids = build.input("ids", 8);
  build.op(SelectExperts{}, "begin", {ids, ids}, {x, offsets, demand, a}, -1, phase);
  build.op(ExchangeCounts{2}, "exchange counts", {offsets, demand}, {total}, 0, phase);
  build.program.ops.back().stream = Stream::host;
  build.op(Permute{1}, "permute", {x}, {sent}, 0, phase);
  build.op(AllToAll{Direction::dispatch, GroupKind::expert}, "dispatch", {sent}, {received}, 0,
           phase);
  build.op(Gelu{}, "experts", {received}, {produced}, 0, phase);
  build.op(AllToAll{Direction::combine, GroupKind::expert}, "return", {produced}, {returned}, 0,
           phase);
  if (with_unrelated) build.op(LayerNorm{}, "unrelated", {a}, {b}, -1, phase);
  build.op(Combine{1}, "combine", {returned}, {y}, 0, phase);
  return {std::move(build.program), b};
}

/// Rank s sends tokens[s][e] rows to expert e, which lives on rank e.
inline moe::Routing small_routing(std::vector<std::vector<std::int64_t>> tokens) {
  return {{moe::LayerRouting{0, 2, std::move(tokens)}}};
}

inline moe::Groups two_nodes() { return moe::make_groups(2, 2, {0, 1}); }

inline Cluster small_cluster() {
  Cluster cluster;
  cluster.name = "small";
  cluster.nodes = 2;
  cluster.inter_node = {1e6, 0};
  cluster.intra_node = {1e9, 0};
  return cluster;
}

/// Permute 1 s, experts 2 s per 1000 received rows, combine 0.5 s, layer norm 4 s.
inline CostModel small_costs() {
  CostModel costs;
  costs.fits["embed_tokens"] = line(0);
  costs.fits["select_experts"] = line(0);
  costs.fits["permute"] = line(1);
  costs.fits["combine"] = line(0.5);
  costs.fits["layer_norm"] = line(4);
  costs.fits["gelu"] = line(0, 2.0 / (1000 * 2 * kColumns * 4));  // read and written
  return costs;
}

/// A machine's: what computes by flops and by bytes, and what passes between its nodes.
inline CostModel plain_costs() {
  CostModel costs;
  costs.fits["gemm"] = line(2e-6, 1e-10);
  costs.fits["memory"] = line(1e-6, 2e-10);
  costs.fits["all_to_all/inter_node"] = line(3e-4, 5e-9);
  costs.fits["all_reduce/inter_node"] = line(5e-4, 6e-9);
  costs.fits["exchange_counts/inter_node"] = line(2e-4, 5e-9);
  return costs;
}

}  // namespace tuner::test
