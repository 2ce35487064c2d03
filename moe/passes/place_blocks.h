#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Decides which pipeline stage has which block. Blocks that follow each other in a stage are a
/// chunk of it. A stage may have several chunks:
///     0 0 1 1            equal stages, as they are without the decision
///     0 0 0 1            the last stage, which has the head too, has fewer blocks
///     0 1 0 1            two chunks for each stage  [interleaved: Narayanan et al. 2021, 2.2]
///     0 1 1 0            a V: the first stage has the first and the last blocks  [DualPipeV, ZBV]
struct PlaceBlocks {
  static constexpr std::string_view name = "place_blocks";
  static constexpr std::string_view description = "chooses the pipeline stage of every block";
  static constexpr bool changes_results = false;
  std::vector<int> stages;  ///< [block]
  friend auto operator<=>(const PlaceBlocks&, const PlaceBlocks&) = default;
  static PlaceBlocks read(const InputObject& input);
};
void write(nlohmann::json& object, const PlaceBlocks& placing);
std::string subject(const PlaceBlocks&);

/// Runs before all other decisions. Ops, parameters and states of a block go to its stage. Rows are
/// passed on wherever the stage changes. The embedding stays in the first stage, with the first
/// block. The head goes to the stage of the last block. Throws Refusal
/// - where there is one stage,
/// - where `stages` does not name a stage for every block and a block for every stage,
/// - where rows would be passed on between stages that are neither neighbours nor the first and the
///   last,
/// - where the first block is not in the first stage, or the last block not in the last; an untied
///   head may be in the first.
Program apply(Program program, const PlaceBlocks& placing);

/// [block]: its stage in this Program.
std::vector<int> stages_of_blocks(const Program& program);

/// [block]: the place of its chunk among the chunks of all stages, from 0: blocks are in one chunk
/// as long as the stage stays.
std::vector<int> chunks_of_blocks(const std::vector<int>& stages);

}  // namespace moe
