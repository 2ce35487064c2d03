#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "moe/program/program.h"

namespace moe {

/// What in a phase of a block communication can be put behind.
enum class ExchangePlace : std::uint8_t {
  dispatch,  ///< all that brings rows, or their gradients, to the experts
  combine,   ///< all that brings them back
  block,     ///< all of the block's phase
};
inline constexpr std::array<std::string_view, 3> kExchangePlaceNames{"dispatch", "combine",
                                                                     "block"};
constexpr std::string_view exchange_place_name(ExchangePlace place) {
  return kExchangePlaceNames[static_cast<std::size_t>(place)];
}

/// The op that stands last of it, by its place in the Program: in backward of the last micro-batch, in forward of the
/// first. None where block `at` has nothing of the kind.
std::optional<std::size_t> place_of(const Program& program, Phase phase, ExchangePlace behind,
                                    int at);

}  // namespace moe
