#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/passes/exchange_place.h"
#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Reduce the gradients of one block (-1: of what lies outside the blocks), or a piece of them where they are
/// sliced, among the backward phase of block `at`: right behind its dispatch, where the stream of the exchange is
/// idle while experts work, or behind its combine, beside what is no experts.
///                                             [FSMoE 4 and 5: gradients behind the last dispatch; Lina]
struct PlaceAllReduce {
  static constexpr std::string_view name = "place_allreduce";
  static constexpr bool changes_results = false;
  int layer = 0;  ///< whose gradients; -1 can be placed in one pipeline stage only
  int piece = 0;  ///< of slice_allreduce
  ExchangePlace behind = ExchangePlace::dispatch;
  int at = 0;
  friend auto operator<=>(const PlaceAllReduce&, const PlaceAllReduce&) = default;
  static PlaceAllReduce read(const InputObject& input);
};
void write(nlohmann::json& object, const PlaceAllReduce& placing);
std::string subject(const PlaceAllReduce& placing);

/// place_of, in the backward phase.
inline std::optional<std::size_t> place_of(const Program& program, ExchangePlace behind, int at) {
  return place_of(program, Phase::backward, behind, at);
}

/// Runs after what slices gradients and moves ops of backward, before assign_stream. The all-reduces of the layer's
/// piece, of every group of ranks, that the pipeline stage of block `at` carries out come to stand behind the
/// place; of several at one place that of the highest layer first, then of the highest piece. They sum what they
/// did, over the same ranks; where gradients of replicated experts are added to what is reduced, that goes along.
///
/// Throws std::invalid_argument where there is no such place, where nothing is reduced, and where not all of the
/// gradients exist at that place.
Program apply(Program program, const PlaceAllReduce& placing);

}  // namespace moe
