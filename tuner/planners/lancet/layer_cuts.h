#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "moe/program/program.h"

namespace tuner {

/// Forward ops [first, end) of the first micro-batch, as places among moe::forward_ops.
struct OpRange {
  std::size_t first = 0, end = 0;
  friend bool operator==(const OpRange&, const OpRange&) = default;
};

/// A MoE layer, and how it can be cut: along the batch (moe::PartitionRange), at most over `far`, or
/// along capacity (moe::PipelineSplit).
struct LayerCuts {
  OpRange ops;  ///< from the op that chooses experts to the op that combines their results
  /// A range inside a range that can be cut can be cut too.
  std::optional<OpRange> far{};
  std::vector<int> parts{};   ///< the numbers of parts of the batch, from 2 on
  std::vector<int> chunks{};  ///< the numbers of chunks of capacity, from 2 on
  /// Why it cannot be cut along the batch at all, or not with the op before its gate: a line for a
  /// person, "" where it can.
  std::string obstacle{};
};

/// [layer]: the cuts of every MoE layer into at most `most_parts`, as the decisions themselves take
/// or refuse them in the first micro-batch. [Lancet 5.2 infers this from partition axes, with the
/// same answers]
std::map<int, LayerCuts> layer_cuts(const moe::Program& program, int most_parts);

}  // namespace tuner
