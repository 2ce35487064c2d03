#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "moe/passes/move_ops.h"
#include "moe/program/program.h"

namespace moe {

/// A place in one phase of a block, after which communication can be put.
enum class ExchangePlace : std::uint8_t {
  dispatch,  ///< after all ops that bring rows, or their gradients, to the experts
  combine,   ///< after all ops that bring them back
  block,     ///< after all ops of the block in that phase
};
inline constexpr std::array<std::string_view, 3> kExchangePlaceNames{"dispatch", "combine",
                                                                     "block"};
constexpr std::string_view exchange_place_name(ExchangePlace place) {
  return kExchangePlaceNames[static_cast<std::size_t>(place)];
}

/// The last op before the place, by its position in the Program: in the first micro-batch for the
/// forward phase, in the last one for the backward phase. None where block `at` has no such ops.
std::optional<std::size_t> place_of(const Program& program, Phase phase, ExchangePlace after,
                                    int at);

/// The first op that place_of() tells for any place of the phase; the number of ops where there is
/// none.
std::size_t first_place(const Program& program, Phase phase);

/// "expected one of dispatch of 1, combine of 1, block of 1": the places of a phase that are among
/// `places` and, unless it is negative, in pipeline stage `stage`. `otherwise` where there are
/// none.
std::string expected_place(const Program& program, Phase phase, int stage, PlacesAfter places,
                           std::string otherwise);

}  // namespace moe
