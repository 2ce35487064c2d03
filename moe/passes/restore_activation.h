#pragma once

#include <array>
#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

class InputObject;

/// How backward gets the rows that the experts received in forward (MPMoE's T_DI).
enum class RestoreDispatched : std::uint8_t {
  keep,         ///< kept on the device
  offload,      ///< copied to the host's memory in forward, fetched in backward
  communicate,  ///< permuted and sent to the experts a second time
};
inline constexpr std::array<std::string_view, 3> kDispatchedNames{"keep", "offload", "communicate"};

/// How backward gets the rows between the layers of the experts (MPMoE's T_M).
enum class RestoreHidden : std::uint8_t {
  keep,  ///< kept on the device
  /// Copied to the host's memory in forward, fetched in backward. The output of an element-wise op
  /// whose input backward needs too is not copied but computed again from that input.
  offload,
  recompute,  ///< computed again from the rows that the experts received
};
inline constexpr std::array<std::string_view, 3> kHiddenNames{"keep", "offload", "recompute"};

/// Makes the chunks of a MoE layer share buffers, and decides how backward gets the rows that
/// chunks then overwrite. [MPMoE 3.3; Table 2 (dispatched, hidden): S1 = offload, offload; S2 =
/// communicate, offload; S3 = offload, recompute; S4 = communicate, recompute]
struct RestoreActivation {
  static constexpr std::string_view name = "restore_activation";
  static constexpr std::string_view description =
      "lets chunks share buffers and restores what backward needs";
  static constexpr bool changes_results = false;
  int layer = 0;
  RestoreDispatched dispatched = RestoreDispatched::keep;
  RestoreHidden hidden = RestoreHidden::keep;
  /// Buffers for offloaded hidden rows. With 1, as MPMoE counts [Eq. 5], the experts of the next
  /// chunk wait until this chunk's rows are copied; with 2 they compute meanwhile.
  int hidden_buffers = 1;
  friend auto operator<=>(const RestoreActivation&, const RestoreActivation&) = default;
  static RestoreActivation read(const InputObject& input);
};
void write(nlohmann::json& object, const RestoreActivation& restoring);
std::string subject(const RestoreActivation& restoring);

/// Runs after pipeline_split, which must have cut both phases of the layer into the same number n
/// of chunks, or neither (n = 1), and before the decisions that move ops. Every tensor of received
/// rows of the layer, in both phases, becomes buffers for the rows of one chunk (Tensor::windows),
/// used in turn: n buffers where rows are kept until backward, two where rows are exchanged or
/// received rows are offloaded, else one. Chunks run in the order S0 S1 C0 R0 S2 C1 R1 ..., where S
/// is the exchange to the experts, C the experts and R the exchange back.  [MPMoE 3.2.1, 3.3]
///
/// Offloaded rows are copied on Stream::copy as soon as they exist. Backward fetches them into
/// buffers of its own, as soon as it has reached the layer and the last chunk in the buffer is
/// done. Where rows are not offloaded, the ops that made them are repeated in backward, chunk by
/// chunk. The layer's forward phase ends after its copies, so that later ops can use the memory of
/// the buffers. All values stay the same, bit for bit.
///
/// Throws Refusal where the layer has no experts, where its phases are cut in another
/// way (by groups of ranks, or along the batch: partition_range), where ranks share experts (esp),
/// where an op needs all received rows at once (a hook), and where hidden_buffers is not 1 or 2.
Program apply(Program program, const RestoreActivation& restoring);
/// One after the other, in the time of one. Each is of another layer.
Program apply_all(Program program, std::span<const RestoreActivation> layers);

}  // namespace moe
