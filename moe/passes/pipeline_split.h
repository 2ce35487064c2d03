#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Cut the exchange and the experts of one phase of one MoE layer into `chunks` slices of its routed
/// rows, so that the exchange of one slice can run while the experts compute another.
///
/// A slice has its share of the rows of every rank for every expert; or, with ranks_per_group, steps between groups of so
/// many ranks of the expert group (row_layout.h): with as many chunks as groups chunk s is FasterMoE's S_s, C_s and R_s,
/// what every group sends to the s-th behind it, what is computed of that and what goes back.  [FasterMoE 4.2]
struct PipelineSplit {
  static constexpr std::string_view name = "pipeline_split";
  static constexpr bool changes_results = false;
  int layer = 0;
  Phase phase = Phase::forward;
  int chunks = 1;
  int ranks_per_group = 0;  ///< 0: of every rank and expert a share
  friend auto operator<=>(const PipelineSplit&, const PipelineSplit&) = default;
  static PipelineSplit read(const InputObject& input);
};
void write(nlohmann::json& object, const PipelineSplit& split);
std::string subject(const PipelineSplit& split);

/// True where the op works on routed rows and every use of them can be cut along with it.
bool follows_routed_rows(const Program& program, const Op& op);

/// Chunks that any layer can be cut into at most, however many rows it has.
inline constexpr int kMostChunks = 1024;

/// Runs after what makes ops and before all else. The ops between the layer's permutation and its last
/// all-to-all (forward: permute, dispatch, experts, combine; backward: combine gradient, dispatch of it,
/// expert gradients, combine) are repeated per slice in the order: all first exchanges with what feeds them,
/// then for each slice its experts followed by its return exchange. Where ranks share experts, or rows travel packed,
/// what a slice computes with rows that came meanwhile stands behind the experts of the next slice, which so need
/// not wait for it. Ops that need all rows at once (gate,
/// combine, weights of the gate) stay as they are, and with ranks_per_group so does what places copies of tokens among the
/// sent rows: it goes first. Expert weight gradients add up over slices; everything else
/// is row by row, so the values do not change.
///
/// Throws std::invalid_argument when the layer has no routed rows in that phase, is split already, has among
/// the cut ops one that needs all rows at once (of a hook), chunks is not within 1 and the rows that a rank
/// can send (at most kMostChunks), or ranks_per_group does not divide the expert group or is another than that by which
/// the other phase of the layer is cut.
Program apply(Program program, const PipelineSplit& split);

}  // namespace moe
