#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Cuts a range of forward ops along the batch into `parts` equal parts, so that the exchange of
/// one part runs while dense layers compute another. The range consists of a MoE layer from the
/// gate's choice of experts to its combine, of `ops_before` ops before these and of `ops_after` ops
/// after them. A gate that needs the whole batch is not cut: its choice is divided among the parts,
/// and ops_before must be 0.  [Lancet 4.1, 5; Figs. 4c, 4d]
struct PartitionRange {
  static constexpr std::string_view name = "partition_range";
  static constexpr std::string_view description =
      "cuts a MoE layer and ops around it into parts of the batch";
  static constexpr bool changes_results = false;
  int layer = 0;
  int parts = 1;
  int ops_before = 0;
  int ops_after = 0;
  friend auto operator<=>(const PartitionRange&, const PartitionRange&) = default;
  static PartitionRange read(const InputObject& input);
};
void write(nlohmann::json& object, const PartitionRange& range);
std::string subject(const PartitionRange& range);

/// The most parts that any layer can be cut into, however many sequences a rank has.
inline constexpr int kMostBatchParts = 1024;

/// Sequences of a rank in a micro-batch; the number of parts must divide it.
std::int64_t sequences_of(const Program& program);
/// The positions of the forward ops of one micro-batch, ascending.
std::vector<std::size_t> forward_ops(const Program& program, int micro_batch);

/// Runs after the decisions that make ops and before the others that cut them. Each part is routed
/// by itself, has rows of its own, and is exchanged as soon as its counts are known (Lancet's
/// irregular exchange). The same tokens are dropped as in the whole batch: the gate passes on how
/// much of every expert's capacity is used (SelectExperts), or chooses for all parts before the
/// first one begins (SplitSelection). The range is divided into stages that end with an exchange of
/// rows; each stage runs part after part  [Lancet 5.3]. Ops that need all tokens and that no op of
/// the range waits for (losses of the gate) follow the range. In backward the layer's ops on routed
/// rows are cut into the same parts. Even with a capacity, the number of rows of a part follows
/// from its routing, so memory is planned as for a dropless layer.
///
/// Throws Refusal with the op or the number that prevents the cut.
Program apply(Program program, const PartitionRange& range);

}  // namespace moe
