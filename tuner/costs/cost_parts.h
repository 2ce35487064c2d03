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
  size_factors,
  call_outliers,
  came_together,
  rarely_alone,
  pairs,
  kinds_beside_communication,
  beside_all,
  same_stream_gaps,
  other_stream_gaps,
  routing_gaps,
  contended_gaps,
  card_queue,
  message_buffers,
  slowdowns,
  slowdowns_by_class,
  slowdowns_by_layer,
  pace,
};

struct NamedCostPart {
  CostPart part;
  std::string_view name;
  std::string_view meaning;  ///< for a person
};

inline constexpr std::array kCostParts{
    NamedCostPart{CostPart::shapes, "shapes",
                  "a line for each shape of an op, not for its kind alone"},
    NamedCostPart{CostPart::size_factors, "size_factors",
                  "a factor for each doubling of the size of a shape"},
    NamedCostPart{CostPart::call_outliers, "call_outliers",
                  "collectives far from their line do not bend it"},
    NamedCostPart{CostPart::came_together, "came_together",
                  "exchanges count whose ranks came together"},
    NamedCostPart{CostPart::rarely_alone, "rarely_alone",
                  "sizes that rarely ran alone do not count"},
    NamedCostPart{CostPart::pairs, "pairs", "speeds of two occupations beside each other"},
    NamedCostPart{CostPart::kinds_beside_communication, "kinds_beside_communication",
                  "speeds beside communication by kind and time of op"},
    NamedCostPart{CostPart::beside_all, "beside_all", "speeds beside two others or more"},
    NamedCostPart{CostPart::same_stream_gaps, "same_stream_gaps",
                  "the gap before an op of the same stream"},
    NamedCostPart{CostPart::other_stream_gaps, "other_stream_gaps",
                  "the gap after an op of another stream"},
    NamedCostPart{CostPart::routing_gaps, "routing_gaps", "the gap after the exchange of counts"},
    NamedCostPart{CostPart::contended_gaps, "contended_gaps",
                  "the gap of a collective whose rank goes on computing"},
    NamedCostPart{CostPart::card_queue, "card_queue",
                  "small messages wait for large ones in the card's queue"},
    NamedCostPart{CostPart::message_buffers, "message_buffers",
                  "messages of an exchange travel before the last rank comes"},
    NamedCostPart{CostPart::slowdowns, "slowdowns", "how unequally fast ranks compute"},
    NamedCostPart{CostPart::slowdowns_by_class, "slowdowns_by_class",
                  "slowdowns of products apart from those of other ops"},
    NamedCostPart{CostPart::slowdowns_by_layer, "slowdowns_by_layer",
                  "slowdowns by layer and phase"},
    NamedCostPart{CostPart::pace, "pace",
                  "computation as fast as at the median of several moments"},
};

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
