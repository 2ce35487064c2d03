#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// How backward gets what attention, norms and dense layers of a block have made in forward.
enum class RestoreDense : std::uint8_t {
  recompute,  ///< computed again from the input of the block
  offload,    ///< copied to the host, and fetched while the block after it is in backward
};
inline constexpr std::array<std::string_view, 2> kRestoreDenseNames{"recompute", "offload"};

/// Frees the activations of attention, norms and dense layers of a block between forward and
/// backward. [Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost; vDNN, Rhu et al.
/// 2016, for offloading] Rows that experts receive and make have restore_activation.
struct RestoreBlock {
  static constexpr std::string_view name = "restore_block";
  static constexpr std::string_view description =
      "computes attention and dense layers of a block again in backward, or offloads them";
  static constexpr bool changes_results = false;
  int layer = 0;
  RestoreDense dense = RestoreDense::recompute;
  friend auto operator<=>(const RestoreBlock&, const RestoreBlock&) = default;
  static RestoreBlock read(const InputObject& input);
};
void write(nlohmann::json& object, const RestoreBlock& restoring);
std::string subject(const RestoreBlock& restoring);

/// Runs after the decisions that cut ops of forward, before those that move ops. It looks at
/// activations whose rows are tokens, which kernels of the block write whole, and which ops of its
/// backward read, but no other block. Backward reads restored ones in their place:
///   - recompute: the ops that wrote them, and those before them whose results are not there any
///     more, are repeated before the first op of backward that reads one. What communication, a
///     gate's choices or random draws have brought stays.
///   - offload: each is copied to the host when it is written. Compute waits for the copies at the
///     end of forward of the next block, and they are fetched when the gradient reaches that block.
/// The same ops compute the same bits.
///
/// Throws Refusal where the block has no such activations.
Program apply(Program program, const RestoreBlock& restoring);
/// One after the other, in the time of one. Each is of another layer.
Program apply_all(Program program, std::span<const RestoreBlock> blocks);

}  // namespace moe
