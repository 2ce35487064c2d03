#pragma once

#include <array>
#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// How backward comes by the rows that the experts received (MPMoE's T_DI).
enum class RestoreDispatched : std::uint8_t {
  keep,         ///< they stay where they are
  offload,      ///< copied to the host's memory in forward, fetched in backward
  communicate,  ///< brought into the order of the experts and sent again
};
inline constexpr std::array<std::string_view, 3> kDispatchedNames{"keep", "offload", "communicate"};

/// How backward comes by what the experts made of them on the way and need again (MPMoE's T_M).
enum class RestoreHidden : std::uint8_t {
  keep,
  /// Of what an element-wise op makes of other rows that backward needs as well, only those; it is made again.
  offload,
  recompute,  ///< from the rows that the experts received
};
inline constexpr std::array<std::string_view, 3> kHiddenNames{"keep", "offload", "recompute"};

/// Let the chunks of a MoE layer share their buffers, and choose how backward comes by what they then have overwritten.
/// [MPMoE 3.3; Table 2: S1 = offload, offload; S2 = communicate, offload; S3 = offload, recompute;
///  S4 = communicate, recompute]
struct RestoreActivation {
  static constexpr std::string_view name = "restore_activation";
  static constexpr bool changes_results = false;
  int layer = 0;
  RestoreDispatched dispatched = RestoreDispatched::keep;
  RestoreHidden hidden = RestoreHidden::keep;
  /// Of what the experts make on the way and offload: with 1, as MPMoE counts [Eq. 5], the next chunk's experts wait
  /// for this one's copy; with 2 they work beside it.
  int hidden_buffers = 1;
  friend auto operator<=>(const RestoreActivation&, const RestoreActivation&) = default;
  static RestoreActivation read(const InputObject& input);
};
void write(nlohmann::json& object, const RestoreActivation& restoring);
std::string subject(const RestoreActivation& restoring);

/// Runs after pipeline_split, which must have cut both phases of the layer into as many chunks n, or neither (n = 1),
/// and before what moves ops. Every tensor of received rows of the layer, of both phases, becomes buffers of the rows of
/// one chunk each (Tensor::windows), used in turn: two where rows are exchanged, or received rows offloaded; n where
/// rows are kept until backward; else one. Chunks come in the order S0 S1 C0 R0 S2 C1 R1 ..., S what is sent to the
/// experts, C the experts, R what comes back.  [MPMoE 3.2.1, 3.3]
///
/// Offloaded rows are copied on Stream::copy once they are there. They come back into buffers of backward's own, as soon
/// as backward has come to the layer and the buffer's last chunk is done with it; or what made them is repeated there
/// chunk by chunk. The layer's forward ends when its copies have, so that what comes next can use the buffers'
/// memory. All values stay what they are, bit for bit.
///
/// Throws std::invalid_argument where the layer has no experts, phases are cut otherwise (by groups of ranks, or along the
/// batch: partition_range), ranks share experts (esp), an op needs all received rows at once (a hook), or hidden_buffers is not
/// 1 or 2.
Program apply(Program program, const RestoreActivation& restoring);

}  // namespace moe
