#include "moe/program/work.h"

#include <gtest/gtest.h>

#include <variant>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/program/row_handling.h"
#include "moe/rows/op_sizes.h"
#include "tests/moe/train/training_case.h"

namespace moe::work_test {
namespace {

struct WorkCase {
  Model model = test::small_model(DType::f32);
  Groups groups = make_groups(4, 4);
  Program program;
  Routing routing;

  explicit WorkCase(const Schedule& schedule) {
    program = apply(build_iteration(model, groups, 0), schedule);
    routing.layers.push_back(zipf_routing(1, 4, model.experts, 112, 1.0, 3));
  }
  Binding binding(int rank) const { return bind(program, routing, groups, rank); }
  const Op& find(std::string_view name) const {
    for (const Op& op : program.ops) {
      if (op.name == name) return op;
    }
    throw std::out_of_range(std::string(name));
  }
  Work work(std::string_view name, int rank = 0) const {
    return work_of(program, find(name), binding(rank), groups, rank);
  }
};

TEST(Work, OfALinearLayerByHand) {
  const WorkCase c({});
  // 7 sequences of 8 tokens per rank, 16 -> 48 columns.
  EXPECT_EQ(c.work("attention qkv").flops, 2.0 * 56 * 16 * 48);
  EXPECT_EQ(c.work("attention qkv").memory_bytes, 4 * (56 * 16 + 16 * 48 + 48 + 56 * 48));
  EXPECT_EQ(c.work("attention qkv dW").flops, 2.0 * 56 * 16 * 48);
}

TEST(Work, OfCausalAttentionIsHalfTheSquare) {
  const WorkCase c({});
  // Scores and values: 2 products of 2 * 56 * 8 * 16, half of each.
  EXPECT_EQ(c.work("attention").flops, 2.0 * 56 * 8 * 16);
  // The scores once more, and four gradients.
  EXPECT_EQ(c.work("attention gradient").flops, 5.0 * 56 * 8 * 16);
  // 7 sequences of 2 heads. A GPU takes the heads of a sequence together, and launches a softmax.
  EXPECT_EQ(c.work("attention").calls, 2 * 7 * 2);
  EXPECT_EQ(c.work("attention").gpu_calls, 3 * 7);
  EXPECT_EQ(c.work("attention gradient").gpu_calls, 6 * 7);
  // q, k, v and y, and a statistic per head; the scratch stays in the cache.
  EXPECT_EQ(c.work("attention").memory_bytes, 4 * 56 * (4 * 16 + 2));
}

TEST(Work, OfAttentionIsAProductForEveryTile) {
  const Tensor qkv{.name = "qkv", .rows = 3 * 1030, .columns = (4 + 2 * 2) * 6};
  const Tensor y{.name = "y", .rows = qkv.rows, .columns = 4 * 6};
  const std::vector<Tensor> tensors{qkv, y};
  const std::vector<Use> reads{{0}}, writes{{1}, {1}, {1}};
  const Binding none;
  const Groups alone = make_groups(1, 1);
  const Attention attention{.heads = 4, .sequence_length = 1030, .key_value_heads = 2};
  const Work work = attention.work({tensors, reads, writes, {}, 0, none, alone, 0});
  // 3 sequences of 4 heads. Blocks of 64 queries: 8 see one tile of 512 keys, 8 see two, one sees
  // three.
  EXPECT_EQ(work.calls, 2 * 3 * 4 * (8 + 2 * 8 + 3));
  // A GPU takes 2 heads of q for those of k and v. Blocks of 512 queries: two see one tile of 1024
  // keys, the third, of 6 queries, sees two.
  EXPECT_EQ(work.gpu_calls, 3 * 3 * 2 * (1 + 1 + 2));
}

/// 8 tokens of 2 heads of 6 columns, of values 4: half of scores by 6 and of values by 4; backward 3
/// products by 6 (scores, gradients of queries and keys) and 2 by 4 (of probabilities and values).
TEST(Work, OfAttentionIsByTheWidthsOfKeysAndOfValues) {
  const std::vector<Tensor> tensors{{.name = "qkv", .rows = 8, .columns = 2 * (6 + 6 + 4)},
                                    {.name = "y", .rows = 8, .columns = 2 * 4},
                                    {.name = "scratch", .rows = 2, .columns = 1}};
  const Binding none;
  const Groups alone = make_groups(1, 1);
  const std::vector<Use> qkv{{0}}, y{{1}, {2}, {2}}, of_gradient{{1}, {0}, {1}, {2}},
      d_qkv{{0}, {2}};
  const Attention forward{.heads = 2, .sequence_length = 8, .key_value_heads = 2, .value_width = 4};
  EXPECT_EQ(forward.work({tensors, qkv, y, {}, 0, none, alone, 0}).flops, 8.0 * 8 * 2 * (6 + 4));
  const AttentionGradient gradient{
      .heads = 2, .sequence_length = 8, .key_value_heads = 2, .value_width = 4};
  EXPECT_EQ(gradient.work({tensors, of_gradient, d_qkv, {}, 0, none, alone, 0}).flops,
            8.0 * 8 * 2 * (3 * 6 + 2 * 4));
}

TEST(Work, OfExpertsFollowsTheRoutingOfTheirRank) {
  const WorkCase c({});
  double total = 0;
  for (int rank = 0; rank < 4; ++rank) total += c.work("experts up", rank).flops;
  EXPECT_EQ(total, 2.0 * 4 * 112 * 16 * 24);
  EXPECT_EQ(c.work("experts up").calls, 7);
}

TEST(Work, OfASlotWithoutAnExpertIsNone) {
  Model model = test::small_model(DType::f32);
  model.experts = 7;  // 4 of the first rank, 3 of the second
  const Groups groups = make_groups(2, 2);
  const Program program = build_iteration(model, groups, 0);
  const Routing routing{{uniform_routing(1, 2, 7, 7 * 16)}};
  for (const Op& op : program.ops) {
    if (!std::holds_alternative<ExpertLinear>(op.kind)) continue;
    const std::int64_t in = program.tensors[op.reads[0].tensor].columns;
    const std::int64_t out = program.tensors[op.writes[0].tensor].columns;
    for (const int rank : {0, 1}) {
      const std::int64_t experts = 4 - rank;
      const Work work = work_of(program, op, bind(program, routing, groups, rank), groups, rank);
      EXPECT_EQ(work.calls, experts);
      EXPECT_EQ(work.flops, 2.0 * 32 * static_cast<double>(experts * in * out));
      EXPECT_EQ(work.memory_bytes, 4 * experts * (32 * (in + out) + in * out + out));
    }
  }
}

TEST(Work, ChunksShareTheWorkOut) {
  const WorkCase whole({});
  const WorkCase cut(test::chunked(whole.model, 3, 1));
  double flops = 0;
  std::int64_t wire = 0;
  for (const Op& op : cut.program.ops) {
    if (op.name == "experts up") {
      flops += work_of(cut.program, op, cut.binding(1), cut.groups, 1).flops;
    }
    if (op.name == "all_to_all dispatch") {
      wire += work_of(cut.program, op, cut.binding(1), cut.groups, 1).wire_bytes;
    }
  }
  EXPECT_EQ(flops, whole.work("experts up", 1).flops);
  EXPECT_EQ(wire, whole.work("all_to_all dispatch", 1).wire_bytes);
}

TEST(BytesToPeers, WhatAllRanksDispatchIsEveryRowThatChangesRank) {
  const WorkCase c({});
  const Op& dispatch = c.find("all_to_all dispatch");
  const Op& combine = c.find("all_to_all combine");
  std::int64_t there = 0, back = 0, expected = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const auto out = bytes_to_peers(c.program, dispatch, c.binding(rank), c.groups, rank);
    const auto home = bytes_to_peers(c.program, combine, c.binding(rank), c.groups, rank);
    EXPECT_EQ(out[rank], 0);
    for (int peer = 0; peer < 4; ++peer) there += out[peer], back += home[peer];
    for (int e = 0; e < c.model.experts; ++e) {
      if (e / 7 != rank) expected += layer_of(c.routing, {1}).tokens[rank][e] * 16 * 4;
    }
  }
  EXPECT_EQ(there, expected);
  EXPECT_EQ(back, expected);
}

TEST(BytesToPeers, OfARingAllReduceByHand) {
  const WorkCase c({});
  const Op& reduce = c.find("all_reduce");
  std::int64_t bytes = 0;
  for (const Use& use : reduce.writes) {
    const Tensor& tensor = c.program.tensors[use.tensor];
    bytes += tensor.rows * tensor.columns * 4;
  }
  const auto out = bytes_to_peers(c.program, reduce, c.binding(1), c.groups, 1);
  EXPECT_EQ(out, (std::vector<std::int64_t>{0, 0, bytes * 2 * 3 / 4, 0}));
}

TEST(Work, EveryOpOfAProgramHasSome) {
  const WorkCase c(test::chunked(test::small_model(DType::f32), 2, 3));
  for (const Op& op : c.program.ops) {
    const Work work = work_of(c.program, op, c.binding(2), c.groups, 2);
    EXPECT_GT(work.memory_bytes + work.wire_bytes, 0) << op.name;
  }
}

}  // namespace
}  // namespace moe::work_test
