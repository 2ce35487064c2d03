#include "tests/moe/passes/exchange_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "db/experts_in_order.h"
#include "moe/passes/pipeline_split.h"
#include "moe/program/program_builder.h"
#include "moe/program/row_handling.h"
#include "moe/program/work.h"
#include "tests/moe/rows/random_placement.h"

namespace moe::cases {
namespace {

constexpr std::int64_t kColumns = 3;  ///< of a row: its source, expert and slot
using Row = std::vector<float>;

enum class Loads { random, some_ranks_empty, one_expert_takes_all };

LayerRouting draw_routing(std::mt19937& random, const Groups& groups, Loads loads) {
  const int experts = groups.layout.expert * (1 + static_cast<int>(random() % 3)) +
                      static_cast<int>(random() % static_cast<unsigned>(groups.layout.expert));
  const int favourite = static_cast<int>(random() % static_cast<unsigned>(experts));
  LayerRouting routing{0, experts, {}};
  for (int rank = 0; rank < groups.ranks; ++rank) {
    const bool empty = loads == Loads::some_ranks_empty && random() % 2 == 0;
    auto& tokens = routing.tokens.emplace_back();
    for (int expert = 0; expert < experts; ++expert) {
      const auto drawn = static_cast<std::int64_t>(random() % 4 == 0 ? 0 : random() % 23);
      const bool none = empty || (loads == Loads::one_expert_takes_all && expert != favourite);
      tokens.push_back(none ? 0 : drawn);
    }
  }
  return routing;
}

struct Layer {
  ProgramBuilder build{DType::f32};
  TensorId x = build.input("x", 1), offsets = build.input("offsets", 1),
           demand = build.input("demand", 1);
  TensorId total = build.integers("total", 1, 1);
  TensorId sent = build.routed("sent", Rows::sent, 0, kColumns, 0);
  TensorId received = build.routed("received", Rows::received, 0, kColumns, 0);
  TensorId produced = build.routed("produced", Rows::received, 0, kColumns, 0);
  TensorId returned = build.routed("returned", Rows::sent, 0, kColumns, 0);

  Layer() {
    const Phase phase = Phase::forward;
    build.op(ExchangeCounts{1}, "counts", {offsets, demand}, {total}, 0, phase);
    build.op(Permute{1}, "permute", {x}, {sent}, 0, phase);
    build.op(AllToAll{Direction::dispatch}, "dispatch", {sent}, {received}, 0, phase);
    build.op(Gelu{}, "experts", {received}, {produced}, 0, phase);
    build.op(AllToAll{Direction::combine}, "combine", {produced}, {returned}, 0, phase);
  }
};

/// The rows that a rank sends, by the definition of their order: expert, then slot.
std::vector<Row> rows_sent(const LayerRouting& routing, int rank) {
  std::vector<Row> rows;
  const auto& tokens = routing.tokens[static_cast<std::size_t>(rank)];
  for (std::size_t expert = 0; expert < tokens.size(); ++expert) {
    for (std::int64_t slot = 0; slot < tokens[expert]; ++slot) {
      rows.push_back(
          {static_cast<float>(rank), static_cast<float>(expert), static_cast<float>(slot)});
    }
  }
  return rows;
}

/// The rows that a rank receives: of its own experts, then of those that it has beside them, each
/// by piece, then source, then slot.
std::vector<Row> rows_received(const LayerRouting& routing, const Groups& groups, int rank,
                               int pieces, const ExpertPlacement& placement) {
  const int members_there = groups.layout.expert;
  const ExpertHomes homes = homes_in_order(routing.experts, members_there);
  const int self = index_in_group(groups, GroupKind::expert, rank);
  const auto computes = [&](int source, int expert) {
    const int home = homes[static_cast<std::size_t>(expert)];
    std::vector<int> there{home};
    for (const ReplicatedExpert& replica : placement.replicas) {
      if (replica.expert != expert) continue;
      there.insert(there.end(), replica.holders.begin(), replica.holders.end());
    }
    if (std::find(there.begin(), there.end(), source) != there.end()) return source;
    const bool home_only = placement.rows_of_others == RowsOfOthers::home;
    return home_only ? home : there[static_cast<std::size_t>(source) % there.size()];
  };
  std::vector<int> experts;
  for (int expert = 0; expert < routing.experts; ++expert) {
    if (homes[static_cast<std::size_t>(expert)] == self) experts.push_back(expert);
  }
  for (const ReplicatedExpert& replica : placement.replicas) {
    if (std::find(replica.holders.begin(), replica.holders.end(), self) != replica.holders.end()) {
      experts.push_back(replica.expert);
    }
  }
  const std::vector<int> sources = members(groups, GroupKind::expert, rank);
  std::vector<Row> rows;
  for (const int expert : experts) {
    for (int piece = 0; piece < pieces; ++piece) {
      for (int source = 0; source < members_there; ++source) {
        if (computes(source, expert) != self) continue;
        const int from = sources[static_cast<std::size_t>(source)];
        const std::int64_t count =
            routing.tokens[static_cast<std::size_t>(from)][static_cast<std::size_t>(expert)];
        for (std::int64_t slot = count * piece / pieces; slot < count * (piece + 1) / pieces;
             ++slot) {
          rows.push_back(
              {static_cast<float>(from), static_cast<float>(expert), static_cast<float>(slot)});
        }
      }
    }
  }
  return rows;
}

std::vector<float> flat(const std::vector<Row>& rows) {
  std::vector<float> values;
  for (const Row& row : rows) values.insert(values.end(), row.begin(), row.end());
  return values;
}

/// Carries out the program's exchanges on buffers of its own; the experts pass their rows on.
class Ranks {
 public:
  Ranks(Communicator& world, const Program& program, const Groups& groups,
        const LayerRouting& routing)
      : world_(world),
        program_(program),
        groups_(groups),
        binding_(bind(program, {{routing}}, groups, world.rank)) {
    for (const Tensor& tensor : program.tensors) {
      const std::int64_t rows = rows_of(tensor, binding_);
      buffers_.emplace_back(static_cast<std::size_t>(rows * tensor.columns), -1.0f);
    }
  }

  std::vector<float>& buffer(TensorId tensor) { return buffers_[static_cast<std::size_t>(tensor)]; }

  void run() {
    for (const Op& op : program_.ops) {
      if (is_all_to_all(op)) exchange(op);
      if (std::holds_alternative<Gelu>(op.kind)) hand_on(op);
    }
  }

 private:
  void exchange(const Op& op) {
    const GroupKind kind = group_of(op).value();
    auto& group = communicators_[kind];
    if (!group) group = world_.split(members(groups_, kind, world_.rank));
    const RowLayout& layout = binding_.layouts.at({0, 0});
    std::vector<Segment> send, receive;
    std::visit(
        [&](const auto& op_kind) {
          if constexpr (ExchangesRows<std::decay_t<decltype(op_kind)>>) {
            send = op_kind.sends(layout, op.reads[0].slice);
            receive = op_kind.receives(layout, op.reads[0].slice);
          }
        },
        op.kind);
    const std::int64_t before = group->sent_bytes();
    group->all_to_all_v(reinterpret_cast<const std::byte*>(buffer(op.reads[0].tensor).data()), send,
                        reinterpret_cast<std::byte*>(buffer(op.writes[0].tensor).data()), receive,
                        kColumns * sizeof(float), {.what = op.name});
    EXPECT_EQ(group->sent_bytes() - before,
              work_of(program_, op, binding_, groups_, world_.rank).wire_bytes)
        << op.name;
    const bool in_node = std::holds_alternative<ExchangeInNode>(op.kind);
    const bool across = std::holds_alternative<ExchangeAcrossNodes>(op.kind);
    if (!in_node && !across) return;
    const auto bytes = bytes_to_peers(program_, op, binding_, groups_, world_.rank);
    const auto ranks = members(groups_, kind, world_.rank);
    ASSERT_EQ(bytes.size(), ranks.size());
    for (std::size_t peer = 0; peer < ranks.size(); ++peer) {
      const bool same = groups_.node_of[static_cast<std::size_t>(ranks[peer])] ==
                        groups_.node_of[static_cast<std::size_t>(world_.rank)];
      EXPECT_TRUE(bytes[peer] == 0 || same == in_node) << op.name;
    }
  }

  void hand_on(const Op& op) {
    for (const RowRange& range : expert_rows(binding_.layouts.at({0, 0}), op.reads[0].slice)) {
      const auto begin = range.begin * kColumns, end = begin + range.rows * kColumns;
      const auto& from = buffer(op.reads[0].tensor);
      std::copy(from.begin() + begin, from.begin() + end,
                buffer(op.writes[0].tensor).begin() + begin);
    }
  }

  Communicator& world_;
  const Program& program_;
  const Groups& groups_;
  Binding binding_;
  std::vector<std::vector<float>> buffers_;
  std::map<GroupKind, std::unique_ptr<Communicator>> communicators_;
};

}  // namespace

void check_route(Communicator& world, const Groups& groups, Route route, int ranks_per_group,
                 int chunks) {
  SCOPED_TRACE(::testing::Message()
               << route_name(route) << " in groups of " << ranks_per_group << ", layout "
               << to_text(groups.layout) << ", " << chunks << " chunks, rank " << world.rank);
  Layer layer;
  layer.build.program.groups = groups;
  Program program =
      apply(layer.build.program, Exchange{0, Phase::forward, {}, route, ranks_per_group});
  program = apply(std::move(program), PipelineSplit{0, Phase::forward, chunks});
  std::mt19937 random(static_cast<unsigned>(100 * chunks + groups.ranks));
  const auto check = [&](const Program& exchanged, const LayerRouting& routing,
                         const ExpertPlacement& placement) {
    Ranks ranks(world, exchanged, groups, routing);
    ranks.buffer(layer.sent) = flat(rows_sent(routing, world.rank));
    ranks.run();
    EXPECT_EQ(ranks.buffer(layer.received),
              flat(rows_received(routing, groups, world.rank, chunks, placement)));
    EXPECT_EQ(ranks.buffer(layer.returned), ranks.buffer(layer.sent));
  };
  for (const Loads loads : {Loads::random, Loads::some_ranks_empty, Loads::one_expert_takes_all}) {
    const LayerRouting routing = draw_routing(random, groups, loads);
    check(program, routing, {});
    if (groups.layout.expert < 2) continue;
    ExpertPlacement placement =
        test::random_placement(random, routing.experts, groups.layout.expert);
    if (placement.rows_of_others ==
        RowsOfOthers::balanced) {  // of which rows_received knows nothing
      placement.rows_of_others = RowsOfOthers::spread;
    }
    Program replicated = program;
    Op sending;
    sending.kind =
        SendExperts{{placement, db::ExpertsInOrder{routing.experts, groups.layout.expert}.most(),
                     routing.experts}};
    sending.layer = 0;
    replicated.ops.push_back(sending);
    check(replicated, routing, placement);
  }
}

void check_routes(Communicator& world) {
  std::vector<Groups> several;
  const int ranks = world.size;
  std::vector<int> one_by_one, in_turn, by_two;
  for (int rank = 0; rank < ranks; ++rank) {
    one_by_one.push_back(rank);
    in_turn.push_back(rank % 2);
    by_two.push_back(rank / 2);
  }
  several.push_back(make_groups(ranks, ranks));
  several.push_back(make_groups(ranks, ranks, one_by_one));
  if (ranks % 2 == 0) {
    several.push_back(make_groups(ranks, ranks, in_turn));
    several.push_back(make_groups(ranks, ranks, by_two));
  }
  for (const Groups& groups : several) {
    for (const int chunks : {1, 3}) {
      check_route(world, groups, Route::flat, 0, chunks);
      check_route(world, groups, Route::one_d, 0, chunks);
      check_route(world, groups, Route::two_d, 0, chunks);
      for (int size = 1; size <= ranks; ++size) {
        if (ranks % size == 0) check_route(world, groups, Route::pairwise, size, chunks);
      }
    }
  }
}

}  // namespace moe::cases
