#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "moe/program/program.h"
#include "tests/tuner/planners/lancet/axis_constraints.h"
#include "tests/tuner/planners/lancet/axis_problem.h"
#include "tuner/planners/lancet/layer_cuts.h"

namespace tuner {

/// The places of a MoE layer among the forward ops.
struct MoeOps {
  OpRange layer;   ///< from the op that chooses experts to the op that combines their results
  OpRange routed;  ///< the ops among them, from first to last, whose chunks follow routed rows
};

/// The axes that partition_range can carry out: parts of the batch, whose routed rows are
/// irregular.
inline constexpr AxisSet kBatchAxes{Axis::none, Axis::batch, Axis::irregular, Axis::later};
/// The axes that pipeline_split can carry out.
inline constexpr AxisSet kCapacityAxes{Axis::none, Axis::capacity, Axis::later};

struct RangeQuestion {
  int layer = 0;  ///< the layer whose exchange is to run beside other parts
  OpRange ops;
  int parts = 2;
  AxisSet axes = kBatchAxes;
};

/// Infers partition axes for ranges of one Program [Lancet 5.2]: the oracle of layer_cuts().
///
/// An op between the gate's choice and the combining op waits for all parts where no cut op needs
/// it (a loss of the gate: ours). Tensors made outside the range are whole, so none of them is
/// irregular. No op after the range can use an irregular tensor, except a sum to which every part
/// adds. A gate that needs the whole batch is not cut and deals its choice out; it is the first op
/// of its range. Where a range cuts the layer along the batch, the layer's backward ops on routed
/// rows are cut alike, so they are asked as well.
///
/// Equal problems, those of layers of one kind, are solved once. A range whose search is given up
/// counts as one that cannot be cut. `program` must outlive it.
class RangeAxes {
 public:
  explicit RangeAxes(const moe::Program& program, std::int64_t most_nodes = kMostNodes);

  /// Throws std::invalid_argument where the layer has no experts.
  MoeOps moe_ops(int layer) const;

  bool legal(const RangeQuestion& question);
  /// The axis of every tensor that the ops use; empty where the range cannot be cut.
  std::optional<std::map<moe::TensorId, Axis>> axes(const RangeQuestion& question);
  std::size_t problems_solved() const { return solved_.size(); }
  /// The number of these searches that were given up (SearchGivenUp).
  std::size_t problems_given_up() const { return given_up_; }

 private:
  /// A question as a problem, with the tensors of its variables.
  struct Posed {
    AxisProblem problem;
    std::vector<moe::TensorId> tensors;  ///< by variable
  };
  /// An op of a question, and whether it may be cut or wait.
  struct Asked {
    std::size_t op = 0;
    bool may_be_cut = true, may_wait = false;
  };
  std::vector<Asked> asked_ops(const RangeQuestion& question, const MoeOps& around) const;
  Posed pose(const RangeQuestion& question) const;
  const std::optional<AxisSolution>& solved(const AxisProblem& problem);

  const moe::Program& program_;
  std::int64_t most_nodes_;
  std::size_t given_up_ = 0;
  std::vector<std::size_t> forward_;
  std::vector<std::vector<std::size_t>> readers_;  ///< by tensor: ops
  std::map<AxisProblem, std::optional<AxisSolution>> solved_;
};

}  // namespace tuner
