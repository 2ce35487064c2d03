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

/// How backward gets what communication has brought to a block, and what is computed from it there.
enum class RestoreCommunication : std::uint8_t {
  keep,    ///< it stays
  repeat,  ///< the block is computed again whole: ranks send once more
};
inline constexpr std::array<std::string_view, 2> kRestoreCommunicationNames{"keep", "repeat"};

/// Frees the activations of attention, norms and dense layers of a block between forward and
/// backward, or those of the whole block. [Chen et al. 2016, Training Deep Nets with Sublinear
/// Memory Cost; vDNN, Rhu et al. 2016, for offloading; Megatron-LM's full recomputation of layers]
struct RestoreBlock {
  static constexpr std::string_view name = "restore_block";
  static constexpr std::string_view description =
      "computes a block, or its dense layers, again in backward, or offloads those";
  static constexpr bool changes_results = false;
  int layer = 0;
  RestoreDense dense = RestoreDense::recompute;
  RestoreCommunication communication = RestoreCommunication::keep;
  friend auto operator<=>(const RestoreBlock&, const RestoreBlock&) = default;
  static RestoreBlock read(const InputObject& input);
};
void write(nlohmann::json& object, const RestoreBlock& restoring);
std::string subject(const RestoreBlock& restoring);

/// True for an op that brings rows to a block, from ranks of its stage, and so is repeated.
bool repeats_with_block(const Op& op);

/// Runs after the decisions that cut ops of forward, before those that move ops. It looks at
/// activations that kernels of the block write, and which ops of its backward read, but no other
/// block. Backward reads restored ones in their place:
///   - recompute: the ops that wrote them, and those before them whose results are not there any
///     more, are repeated before the first op of backward that reads one. What communication and a
///     gate have brought stays, and so do routed rows and what is written in parts.
///   - recompute and repeat: the same, with the exchanges, the ops on routed rows and the scores of
///     the gate among what is repeated. The input of the block stays, and what the gate has chosen:
///     experts, weights, slots and counts. Ranks repeat exchanges in the order of forward.
///   - offload: each is copied to the host when it is written. Compute waits for the copies at the
///     end of forward of the next block, and they are fetched when the gradient reaches that block.
/// The same ops compute the same bits.
///
/// Throws Refusal where the block has no such activations, where nothing is sent to be repeated,
/// where chunks share buffers in a block whose exchanges are repeated (restore_activation), and
/// where dense layers would be offloaded there.
Program apply(Program program, const RestoreBlock& restoring);
/// One after the other, in the time of one. Each is of another layer.
Program apply_all(Program program, std::span<const RestoreBlock> blocks);

}  // namespace moe
