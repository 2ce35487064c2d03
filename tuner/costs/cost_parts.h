#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The parts of costs that calibrate() and a study work out beside fits by kind of op. Each can be
/// left out, so that stored studies tell whether it pays (study/judge.h).
namespace tuner {

enum class CostPart : std::uint8_t {
  shapes,
  pairs,
  launch_gaps,
  card_queue,
  message_buffers,
  slowdowns,
};

struct NamedCostPart {
  CostPart part;
  std::string_view name;
  std::string_view meaning;  ///< for a person
};

inline constexpr std::array kCostParts{
    NamedCostPart{CostPart::shapes, "shapes",
                  "a fit for each shape of an op, not for its kind alone"},
    NamedCostPart{CostPart::pairs, "pairs", "speeds of two occupations beside each other"},
    NamedCostPart{CostPart::launch_gaps, "launch_gaps", "the time before an op that may start"},
    NamedCostPart{CostPart::card_queue, "card_queue",
                  "small messages wait for large ones in the card's queue"},
    NamedCostPart{CostPart::message_buffers, "message_buffers",
                  "messages of an exchange travel before the last rank comes"},
    NamedCostPart{CostPart::slowdowns, "slowdowns", "how unequally fast ranks compute"},
};

static_assert(
    [] {
      for (std::size_t i = 0; i < kCostParts.size(); ++i) {
        if (static_cast<std::size_t>(kCostParts[i].part) != i) return false;
      }
      return static_cast<std::size_t>(CostPart::slowdowns) + 1 == kCostParts.size();
    }(),
    "kCostParts names every part, in the order of CostPart");

/// All of them, but those that are left out.
struct CostParts {
  std::bitset<kCostParts.size()> left_out;

  bool has(CostPart part) const { return !left_out.test(static_cast<std::size_t>(part)); }
  CostParts without(CostPart part) const {
    CostParts fewer = *this;
    fewer.left_out.set(static_cast<std::size_t>(part));
    return fewer;
  }
};

}  // namespace tuner
