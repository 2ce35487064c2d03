#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "moe/rows/groups.h"
#include "moe/rows/op_facts.h"
#include "moe/rows/tensor.h"

/// Ops that bring token copies to their experts and back. S sent rows, R received rows; where n
/// ranks share experts, G gathered rows.
namespace moe {

struct RowLayout;  // row_layout.h
struct Segment;

/// offsets i32[1,E+1], demand i32[1,E] -> total_demand i32[1,E]. All ranks of the stage learn how
/// many rows every rank sends to every expert of Op::layer. This decides the numbers of sent and
/// received rows (binds_routing in op.h) and how they are divided into slices (RowLayout).
struct ExchangeCounts {
  static constexpr OpFacts facts{"exchange_counts",
                                 Executor::host,
                                 Activity::communication,
                                 CostUnit::wire_bytes,
                                 {integers(Cut::whole), integers(Cut::whole)},
                                 {integers(Cut::whole)}};
  static constexpr GroupKind group = GroupKind::stage;
  int experts = 0;
  int ranks_per_group = 0;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// The same in a layer whose rows are padded (padding.h). Every rank knows beforehand how many rows
/// it sends and receives, so that no row waits for this op. It serves losses of the gate, and the
/// record of loads.
struct GatherLoads : ExchangeCounts {
  static constexpr OpFacts facts{"gather_loads",
                                 Executor::host,
                                 Activity::communication,
                                 CostUnit::wire_bytes,
                                 {integers(Cut::whole), integers(Cut::whole)},
                                 {integers(Cut::whole)}};
  std::int64_t rows_per_pair = 0;  ///< rows that every rank sends every expert
};

/// Offsets, which tell where the sent rows of every expert begin, may be padded i32[2,E+1] in place
/// of i32[1,E+1] (padding.h).
/// x[T,M], expert i32[T,k], slot i32[T,k], offsets i32[1,E+1] -> sent[S,M] (one slice)
struct Permute {
  static constexpr OpFacts facts =
      kernel_op("permute", CostUnit::bytes,
                {Cut::tokens, integers(Cut::tokens), integers(Cut::tokens), integers(Cut::whole)},
                {Cut::rows});
  int choices = 1;
  Work work(const OpSizes& sizes) const;
};
/// d_sent[S,M], expert i32[T,k], slot i32[T,k], offsets i32[1,E+1] -> dx[T,M]
struct PermuteGradient {
  static constexpr OpFacts facts =
      kernel_op("permute_gradient", CostUnit::bytes,
                {Cut::whole, integers(Cut::tokens), integers(Cut::tokens), integers(Cut::whole)},
                {Cut::tokens});
  int choices = 1;
  Work work(const OpSizes& sizes) const;
};

enum class Direction : std::uint8_t { dispatch, combine };
inline constexpr std::array<std::string_view, 2> kDirectionNames{"dispatch", "combine"};
constexpr std::string_view direction_name(Direction direction) {
  return kDirectionNames[static_cast<std::size_t>(direction)];
}
/// dispatch: sent[S,M] -> received[R,M]; combine: received[R,M] -> sent[S,M] (one slice of each)
struct AllToAll {
  static constexpr OpFacts facts =
      collective_op("all_to_all", {either(Cut::rows)}, {either(Cut::rows)});
  Direction direction = Direction::dispatch;
  GroupKind group = GroupKind::expert;
  std::vector<Segment> sends(const RowLayout& layout, Slice slice) const;
  std::vector<Segment> receives(const RowLayout& layout, Slice slice) const;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};

/// received[R,M] -> gathered[G,M] (one slice of each): all ranks that share the experts get the
/// rows of all of them (FSMoE's ESP-AllGather; ranks may have different numbers of rows).
struct GatherRows {
  static constexpr OpFacts facts = collective_op("gather_rows", {Cut::rows}, {Cut::rows});
  static constexpr GroupKind group = GroupKind::expert_sharded;
  std::vector<Segment> sends(const RowLayout& layout, Slice slice) const;
  std::vector<Segment> receives(const RowLayout& layout, Slice slice) const;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};
/// partial[G,M] -> shares[R,n*M] (one slice of each): every rank gets its own rows of the partial
/// results of all n sharing ranks, as n blocks of R rows. Together with SumShares it is FSMoE's
/// ESP-ReduceScatter and sends as many bytes.
struct ScatterRows {
  static constexpr OpFacts facts = collective_op("scatter_rows", {Cut::rows}, {Cut::rows});
  static constexpr GroupKind group = GroupKind::expert_sharded;
  std::vector<Segment> sends(const RowLayout& layout, Slice slice) const;
  std::vector<Segment> receives(const RowLayout& layout, Slice slice) const;
  Work work(const OpSizes& sizes) const;
  std::vector<std::int64_t> bytes_to_peers(const OpSizes& sizes) const;
};
/// shares[R,n*M] -> y[R,M] (one slice): the blocks added up, in rank order
struct SumShares {
  static constexpr OpFacts facts =
      kernel_op("sum_shares", CostUnit::bytes, {Cut::rows}, {Cut::rows});
  Work work(const OpSizes& sizes) const;
};

/// returned[S,M], expert i32[T,k], weight[T,k], slot i32[T,k], offsets i32[1,E+1] -> y[T,M]
struct Combine {
  static constexpr OpFacts facts = kernel_op("combine", CostUnit::bytes,
                                             {Cut::whole, integers(Cut::tokens), wide(Cut::tokens),
                                              integers(Cut::tokens), integers(Cut::whole)},
                                             {Cut::tokens});
  int choices = 1;
  Work work(const OpSizes& sizes) const;
};
/// dy[T,M], expert i32[T,k], weight[T,k], slot i32[T,k], offsets i32[1,E+1] -> d_returned[S,M]
/// (one slice)
struct CombineInputGradient {
  static constexpr OpFacts facts = kernel_op("combine_input_gradient", CostUnit::bytes,
                                             {Cut::tokens, integers(Cut::tokens), wide(Cut::tokens),
                                              integers(Cut::tokens), integers(Cut::whole)},
                                             {Cut::rows});
  int choices = 1;
  Work work(const OpSizes& sizes) const;
};
/// dy[T,M], returned[S,M], expert i32[T,k], slot i32[T,k], offsets i32[1,E+1] -> d_weight[T,k]
struct CombineWeightGradient {
  static constexpr OpFacts facts = kernel_op(
      "combine_weight_gradient", CostUnit::bytes,
      {Cut::tokens, Cut::whole, integers(Cut::tokens), integers(Cut::tokens), integers(Cut::whole)},
      {wide(Cut::tokens)});
  int choices = 1;
  Work work(const OpSizes& sizes) const;
};

}  // namespace moe
