#pragma once

#include <map>
#include <vector>

#include "moe/program/op.h"
#include "moe/rows/expert_placement.h"
#include "moe/rows/groups.h"
#include "moe/rows/tensor.h"

namespace moe {

/// The initial value of a parameter.
enum class Initial : std::uint8_t { zero, one, normal };

/// The part of a parameter of the whole model that a rank holds. Initial values are drawn by the
/// place in the whole model, so that they do not depend on the layout. A parameter consists of
/// blocks of rows: one block per expert, or a single one. A rank holds consecutive blocks, and of
/// each block the same rows and columns.
struct Shard {
  std::int64_t first_block = 0;
  std::int64_t block_rows = 1;                    ///< rows held of each block
  std::int64_t first_row = 0, of_rows = 1;        ///< first row held of a block, and its rows
  std::int64_t first_column = 0, of_columns = 1;  ///< likewise for columns
  /// Widths of the groups of columns (q, k and v of attention). The rank holds the same share of
  /// each group, in proportion as first_column and the columns held are to of_columns. Empty: one
  /// group.
  std::vector<std::int64_t> column_groups{};
  /// The blocks held, where they are not consecutive from first_block on.
  std::vector<std::int64_t> blocks{};
  /// Blocks at the end of the tensor that are of no parameter: a rank with fewer experts than
  /// another has room for as many. They begin as zeros and stay zeros.
  std::int64_t empty_blocks = 0;
};

/// A parameter with its gradient and its place in the whole model.
struct Parameter {
  TensorId value = -1;
  TensorId gradient = -1;
  /// False: the optimizer leaves it alone; another op of the update phase changes it, in the same
  /// way on all ranks.
  bool optimized = true;
  std::vector<TensorId> optimizer_state;
  /// Among optimizer_state, of a parameter in bf16: what its master, which the optimizer updates in
  /// f32, has beyond it; -1 elsewhere.
  TensorId remainder = -1;
  /// True: a rank has of optimizer_state what belongs to its share among the ranks of `replicas`
  /// (element_share.h), and updates no more than that. Each state is one column of
  /// largest_share() rows.
  bool shares_state = false;
  Initial initial = Initial::zero;
  double standard_deviation = 0;
  Shard shard;
  int layer = -1;  ///< block of the model, -1 outside the blocks
  int stage = 0;   ///< pipeline stage
  /// True: an earlier stage has the parameter, too. Its gradient is the sum of both (ReduceTied),
  /// and the earlier stage alone counts it in norms and stores it.
  bool is_copy = false;
  GroupKind replicas = GroupKind::stage;  ///< ranks that hold copies of it and sum its gradient
};

/// True for parameters made of blocks of experts: [D*n,c] holds n rows of each of a rank's experts,
/// and has room for those of D.
inline bool belongs_to_experts(const Parameter& parameter) {
  return parameter.replicas == GroupKind::expert_data;
}

/// The kind of the group whose ranks hold the other parts of a parameter that is cut, or further
/// copies of one that is not.
inline GroupKind sharers_of(const Parameter& parameter) {
  return belongs_to_experts(parameter) ? GroupKind::expert_sharded : GroupKind::tensor;
}

/// All ops of one iteration in issue order. The list is the same on every rank; each rank carries
/// out the ops of its pipeline stage (stage_program.h). Plain data: only the rewrites in passes/
/// make one Program from another.
struct Program {
  Groups groups;  ///< the groups of the ranks that carry it out
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::vector<Parameter> parameters;
  int stages = 1;         ///< pipeline stages
  int micro_batches = 1;  ///< number of micro-batches; an iteration adds up their gradients
  // By micro-batch:
  std::vector<TensorId> tokens;   ///< i32[T]
  std::vector<TensorId> targets;  ///< i32[T]
  /// Scalars whose sum, over micro-batches and over ranks, is the mean cross-entropy.
  std::vector<TensorId> losses;

  /// Load-balancing losses: a scalar per micro-batch and per MoE layer whose gate has such a loss,
  /// in order.
  std::vector<TensorId> auxiliary_losses;
  /// Router z-losses: a scalar per micro-batch and MoE layer, in order; empty unless the model has
  /// them.
  std::vector<TensorId> z_losses;
  /// The norm of all gradients together, a scalar for every pipeline stage, in order; empty unless
  /// gradients are clipped.
  std::vector<TensorId> gradient_norms;
  TensorId step = -1;  ///< i32[1,1]: the number of this iteration, from 1
  /// [1,1]: a norm of gradients above it makes no update; -1 where all norms do.
  TensorId norm_limit = -1;
  /// The homes of experts in every MoE layer where they are not in order (passes/place_experts.h).
  HomesByLayer homes;

  // Defined in program.cpp, so that not every source that has a Program compiles them.
  Program();
  Program(const Program&);
  Program(Program&&) noexcept;
  Program& operator=(const Program&);
  Program& operator=(Program&&) noexcept;
  ~Program();
};

/// The blocks of the whole parameter that a rank holds in its tensor of so many rows.
std::int64_t blocks_held(const Shard& shard, std::int64_t rows);

/// The place that element `element` of the rank's tensor has in the whole parameter, row-major.
/// It must not be in an empty block.
std::int64_t whole_element(const Shard& shard, std::int64_t columns, std::int64_t element);

/// For each op, the earlier ops that it must wait for, ascending. An op waits for the ops that
/// wrote the slices it reads, and for those that read or wrote the slices it overwrites. Only
/// overlapping slices count; slices of a tensor with windows all overlap. Dependencies that follow
/// from other dependencies or from the order of a stream are listed too.
std::vector<std::vector<int>> dependencies(const Program& program);

/// The ops that write a loss (the cross-entropy, a load-balancing loss or a z-loss), ascending.
std::vector<int> loss_ops(const Program& program);

/// The experts of a MoE layer on all ranks of an expert group; 0 where the layer has none.
int experts_in_layer(const Program& program, int layer);

/// The placements of the MoE layers that have replicas, or experts that are not at home in order.
std::map<int, ExpertPlacement> placements(const Program& program);

/// True where a rank has only a part of every block of the parameter.
bool is_cut(const Program& program, const Parameter& parameter);

/// True for an op that reads or writes rows whose number depends on the routing of a layer.
bool uses_routed_rows(const Program& program, const Op& op);

/// Throws std::logic_error with the op's position and name
/// - where an op has more operands than its kind, or an operand is not a tensor of the Program,
/// - where a slice is not within [0, count), or is not one that the tensor's windows hold,
/// - where an operand has another type than the facts of its op say,
/// - where an op reads an activation or gradient that no earlier op of the iteration wrote,
/// - where an op overwrites an activation or gradient that no op has read.
void validate(const Program& program);

/// One line per layer whose experts are not at home in order, then one line per op. Golden tests
/// and `--print-program` show it: `12 forward  layer 1 1/2 compute    permute  reads x, expert,
/// slot, offsets -> sent[1/2]`
std::string to_text(const Program& program);

}  // namespace moe
