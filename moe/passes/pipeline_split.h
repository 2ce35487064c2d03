#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Cuts the exchanges and the experts of one phase of one MoE layer into `chunks` chunks of its
/// routed rows, so that the exchange of one chunk can run while the experts compute another.
///
/// A chunk has a share of the rows that each rank sends to each expert. With ranks_per_group it
/// instead has steps between groups of so many ranks of the expert group (row_layout.h): with as
/// many chunks as groups, chunk s is FasterMoE's S_s, C_s and R_s, in which every group sends to
/// the s-th group after it, computes the rows that it got, and sends them back.  [FasterMoE 4.2]
struct PipelineSplit {
  static constexpr std::string_view name = "pipeline_split";
  static constexpr std::string_view description =
      "cuts the exchange and the experts of a MoE layer into chunks";
  static constexpr bool changes_results = false;
  int layer = 0;
  Phase phase = Phase::forward;
  int chunks = 1;
  int ranks_per_group = 0;  ///< 0: every chunk has a share of the rows of every rank and expert
  friend auto operator<=>(const PipelineSplit&, const PipelineSplit&) = default;
  static PipelineSplit read(const InputObject& input);
};
void write(nlohmann::json& object, const PipelineSplit& split);
std::string subject(const PipelineSplit& split);

/// True where the op works on routed rows and all of them can be cut with it.
bool follows_routed_rows(const Program& program, const Op& op);

/// The most chunks that any layer can be cut into, however many rows it has.
inline constexpr int kMostChunks = 1024;

/// Runs after the decisions that make ops and before all others. The ops from the layer's
/// permutation to its last all-to-all (forward: permute, dispatch, experts, combine; backward:
/// combine gradient, its dispatch, expert gradients, combine) are repeated for every chunk in this
/// order: the first exchanges of all chunks with the ops that feed them, then chunk by chunk its
/// experts, the sum of its shares (exchange_end.h) and its exchange back. Rows that come packed are
/// unpacked after the experts of the next chunk, which so need not wait for them.
/// Ops that need all rows at once (gate, combine, weights of the gate) are not cut; with
/// ranks_per_group neither are the ops that put copies of tokens into the sent rows, which then run
/// first. The chunks of an expert's weight gradient are added up; all else is computed row by row,
/// so the values do not change.
///
/// Throws Refusal where the layer has no routed rows in that phase, where it is split
/// already, where one of the ops needs all rows at once (of a hook), where chunks is not between 1
/// and the rows that a rank can send (at most kMostChunks), and where ranks_per_group does not
/// divide the expert group or differs from that of the layer's other phase.
Program apply(Program program, const PipelineSplit& split);
/// One after the other, in the time of one. Each is of another layer or phase.
Program apply_all(Program program, std::span<const PipelineSplit> splits);

}  // namespace moe
