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
struct PipelineSplit {
  static constexpr std::string_view name = "pipeline_split";
  static constexpr bool changes_results = false;
  int layer = 0;
  Phase phase = Phase::forward;
  int chunks = 1;
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
/// combine, weights of the gate) stay as they are. Expert weight gradients add up over slices; everything else
/// is row by row, so the values do not change.
///
/// Throws std::invalid_argument when the layer has no routed rows in that phase, is split already, has among
/// the cut ops one that needs all rows at once (of a hook), or chunks is not within 1 and the rows that a rank
/// can send (at most kMostChunks).
Program apply(Program program, const PipelineSplit& split);

}  // namespace moe
