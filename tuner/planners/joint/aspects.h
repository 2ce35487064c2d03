#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "moe/passes/schedule.h"

namespace tuner {

/// The subjects of a Schedule's decisions. The search exchanges all decisions of one aspect
/// together.
enum class Aspect : std::uint8_t {
  wire_format,  ///< how numbers travel
  /// the homes of experts, the ranks that compute them, and when parameters and gradients are sent
  placement,
  routes,            ///< the ranks that rows pass on the way to their experts
  cuts,              ///< cuts into chunks of rows, or parts of the batch
  memory,            ///< shared buffers, how backward restores them, a sharded optimizer
  streams,           ///< the streams of exchanges
  gradients,         ///< the slices, places and stream of gradients' all-reduces
  weight_gradients,  ///< when weight gradients are computed
  micro_batches,     ///< the order of micro-batches, and the blocks of stages
};
inline constexpr auto kAspectNames =
    std::to_array<std::string_view>({"wire_format", "placement", "routes", "cuts", "memory",
                                     "streams", "gradients", "weight_gradients", "micro_batches"});
static_assert(kAspectNames.size() == static_cast<std::size_t>(Aspect::micro_batches) + 1);
constexpr std::string_view aspect_name(Aspect aspect) {
  return kAspectNames[static_cast<std::size_t>(aspect)];
}

Aspect aspect_of(const moe::Decision& decision);

/// Several aspects at once.
using Aspects = std::vector<Aspect>;

/// The aspects that a schedule has decisions about, in the order above.
Aspects aspects_of(const moe::Schedule& schedule);

/// `schedule` without its decisions about these aspects, and with those of `from` instead.
moe::Schedule without(moe::Schedule schedule, const Aspects& aspects);
moe::Schedule with(const moe::Schedule& schedule, const Aspects& aspects,
                   const moe::Schedule& from);

}  // namespace tuner
