#pragma once

#include <map>
#include <vector>

#include "moe/program/op.h"
#include "moe/rows/expert_placement.h"
#include "moe/rows/groups.h"
#include "moe/rows/tensor.h"

namespace moe {

/// How a parameter starts.
enum class Initial : std::uint8_t { zero, one, normal };

/// Which part of a parameter of the whole model a rank holds, so that its initial values do not depend on
/// the layout. Parameters are blocks of rows: one per expert, or a single one. A rank holds some blocks in
/// a row, of each some rows and columns.
struct Shard {
  std::int64_t first_block = 0;
  std::int64_t block_rows = 1;  ///< held of each block
  std::int64_t first_row = 0, of_rows = 1;
  std::int64_t first_column = 0, of_columns = 1;
  /// Widths of groups of columns that are cut alike (q, k and v of attention): of each, the share that
  /// first_column and the columns held are of all. One group where empty.
  std::vector<std::int64_t> column_groups{};
  /// The blocks held, where they are not those in a row from first_block on.
  std::vector<std::int64_t> blocks{};
};

/// A parameter with its gradient and its place in the global model.
struct Parameter {
  TensorId value = -1;
  TensorId gradient = -1;
  bool optimized =
      true;  ///< false: some other op of the update moves it, by what is the same on all ranks
  std::vector<TensorId> optimizer_state;
  Initial initial = Initial::zero;
  double standard_deviation = 0;
  Shard shard;
  int layer = -1;                         ///< block of the model, -1 outside the blocks
  int stage = 0;                          ///< of the pipeline
  GroupKind replicas = GroupKind::stage;  ///< who holds copies of it and shares its gradient
};

/// True for those that are blocks of experts (ep): in [D*n,c] n rows of each of a rank's D experts.
inline bool belongs_to_experts(const Parameter& parameter) {
  return parameter.replicas == GroupKind::expert_data;
}

/// What every rank does in one iteration: ops in issue order, the same list on every rank, each of which
/// carries out those of its pipeline stage (stage_program.h). Plain data; only the rewrites in passes/ make a
/// Program out of a Program.
struct Program {
  Groups groups;  ///< of the ranks that it is for
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<Parameter> parameters;
  int stages = 1;         ///< of the pipeline
  int micro_batches = 1;  ///< whose gradients an iteration adds up
  // By micro-batch:
  std::vector<TensorId> tokens;   ///< i32[T]
  std::vector<TensorId> targets;  ///< i32[T]
  std::vector<TensorId>
      losses;  ///< scalars; sum over them and over ranks to the mean cross-entropy

  /// Load balancing: a scalar per micro-batch and MoE layer whose gate balances, in order.
  std::vector<TensorId> auxiliary_losses;
  std::vector<TensorId> z_losses;  ///< router z-loss: the same, where the model weighs it
  TensorId step = -1;              ///< i32[1,1], number of this iteration from 1
  /// By MoE layer: the ranks that its experts belong to, where they are not in order (passes/place_experts.h).
  HomesByLayer homes;

  // In program.cpp alone: else every source that has a Program would compile them.
  Program();
  Program(const Program&);
  Program(Program&&) noexcept;
  Program& operator=(const Program&);
  Program& operator=(Program&&) noexcept;
  ~Program();
};

/// Position in the whole parameter, row-major, of element `element` of the rank's tensor.
std::int64_t whole_element(const Shard& shard, std::int64_t columns, std::int64_t element);

/// For each op, the earlier ops it must wait for, ascending: an op that reads what another wrote,
/// overwrites what another read or wrote, slice by slice; slices of a window take each other's place. What another dependency already implies
/// by itself is left in; what stream order implies is left in too.
std::vector<std::vector<int>> dependencies(const Program& program);

/// The ops that write the loss or one of the others, ascending.
std::vector<int> loss_ops(const Program& program);

/// By MoE layer whose experts are sent to other ranks, or belong to others than in order: who computes which.
std::map<int, ExpertPlacement> placements(const Program& program);

/// True for an op that reads or writes rows which only the routing of a layer tells the number of.
bool uses_routed_rows(const Program& program, const Op& op);

/// Throws std::logic_error with the op's position and name when an op has more operands than its
/// kind, a use names no tensor, a slice is not within [0, count) or not one that a window holds, an activation or a gradient is read
/// before any op wrote that part of it in this iteration, or is overwritten before any op read it.
void validate(const Program& program);

/// One line per layer whose experts are not at home in order, and one per op, for golden tests and `--print-program`:
/// `12 forward  layer 1 1/2 compute    permute  reads x, expert, slot, offsets -> sent[1/2]`
std::string to_text(const Program& program);

}  // namespace moe
