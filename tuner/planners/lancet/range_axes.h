#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "moe/program/program.h"
#include "tuner/planners/lancet/axis_constraints.h"
#include "tuner/planners/lancet/axis_problem.h"

namespace tuner {

/// Forward ops [first, end) of the first micro-batch, by place among them (moe::forward_ops).
struct OpRange {
  std::size_t first = 0, end = 0;
  friend bool operator==(const OpRange&, const OpRange&) = default;
};

/// Where a MoE layer is among the forward ops.
struct MoeOps {
  OpRange layer;   ///< from the op that chooses experts to the one that puts tokens together again
  OpRange routed;  ///< of these, from the first to the last whose pieces follow routed rows
};

/// What partition_range can carry out: parts of the batch, what a gate routes of them irregularly.
inline constexpr AxisSet kBatchAxes{Axis::none, Axis::batch, Axis::irregular, Axis::later};
/// What pipeline_split can carry out.
inline constexpr AxisSet kCapacityAxes{Axis::none, Axis::capacity, Axis::later};

struct RangeQuestion {
  int layer = 0;  ///< whose exchange is to run beside other pieces
  OpRange ops;
  int parts = 2;
  AxisSet axes = kBatchAxes;
};

/// Infers partition axes for ranges of one Program [Lancet 5.2]. An op between the gate's choice
/// and the op that puts tokens together waits for all pieces where nothing that is cut needs it
/// (losses of the gate: ours). Tensors that the range does not make are whole, so that none of them
/// is irregular, and nothing behind the range can use one that is, but for what every part adds to.
/// A gate that needs the whole batch is cut into nothing, and deals its choice out: a range has it
/// for its first op. Where a range cuts the layer along the batch, the layer's backward ops on
/// routed rows are cut alike, and asked as well.
///
/// Problems that are the same, those of layers of one kind, are solved once; a range whose search
/// is given up counts as one that cannot be cut. `program` must outlive it.
class RangeAxes {
 public:
  explicit RangeAxes(const moe::Program& program, std::int64_t most_nodes = kMostNodes);

  /// Throws std::invalid_argument where the layer has no experts.
  MoeOps moe_ops(int layer) const;

  bool legal(const RangeQuestion& question);
  /// The axis of every tensor that the ops use; none where the range cannot be cut.
  std::optional<std::map<moe::TensorId, Axis>> axes(const RangeQuestion& question);
  /// Of a range that cannot be cut: the op that is in the way, counted from the gate's choice on
  /// and then to the front, and why, or which tensor that the others cut otherwise. "" where it can
  /// be cut.
  std::string obstacle(const RangeQuestion& question);

  /// The longest range around the layer that can be cut so: as far to the front as goes with
  /// nothing behind the layer, and as far to the back with nothing before it. None where not even
  /// the layer can.
  std::optional<OpRange> reach(int layer, int parts);

  std::size_t problems_solved() const { return solved_.size(); }
  /// Of these, how many no search came to an end about (SearchGivenUp).
  std::size_t problems_given_up() const { return given_up_; }

 private:
  /// A question as a problem, with what its variables and constraints stand for.
  struct Posed {
    AxisProblem problem;
    std::vector<moe::TensorId> tensors;  ///< by variable
    std::vector<std::size_t> ops;        ///< by constraint, in the Program
    std::vector<std::size_t>
        outwards;  ///< constraints: the choice and on, back to the front, backward
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
