#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "moe/passes/schedule.h"

namespace tuner {

/// What the decisions of a Schedule are about: those of one aspect are taken over from another
/// Schedule together.
enum class Aspect : std::uint8_t {
  wire_format,  ///< how numbers travel
  /// of experts: where they belong, who computes them, when they are sent and their gradients
  /// brought home
  placement,
  routes,            ///< by way of whom rows reach their experts
  cuts,              ///< into chunks of rows, or parts of the batch
  memory,            ///< what chunks share, and how backward comes by what it needs
  streams,           ///< what communicates beside what
  gradients,         ///< the pieces and places of their all-reduces, and their stream
  weight_gradients,  ///< when they are worked out
  micro_batches,     ///< their order
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

/// The aspects that a schedule decides anything of, in the order above.
Aspects aspects_of(const moe::Schedule& schedule);

/// `schedule` without its decisions of these aspects, and with those of `from` instead.
moe::Schedule without(moe::Schedule schedule, const Aspects& aspects);
moe::Schedule with(const moe::Schedule& schedule, const Aspects& aspects,
                   const moe::Schedule& from);

}  // namespace tuner
