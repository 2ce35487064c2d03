#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "moe/passes/exchange_place.h"
#include "moe/program/program.h"

namespace moe {

class InputObject;

/// All-reduces the gradients of one block (-1: of the parameters outside the blocks), or one slice
/// of them, during the backward phase of block `at`: right after its dispatch, where the stream of
/// the exchange is idle while the experts compute, or after its combine, while dense layers
/// compute. [FSMoE 4 and 5: gradients after the last dispatch; Lina]
struct PlaceAllReduce {
  static constexpr std::string_view name = "place_allreduce";
  static constexpr std::string_view description =
      "all-reduces gradients of a block after an exchange of another";
  static constexpr bool changes_results = false;
  int layer = 0;  ///< the block; -1 can be placed in one pipeline stage only
  int slice = 0;  ///< one of the slices that slice_allreduce makes
  ExchangePlace after = ExchangePlace::dispatch;
  int at = 0;
  friend auto operator<=>(const PlaceAllReduce&, const PlaceAllReduce&) = default;
  static PlaceAllReduce read(const InputObject& input);
};
void write(nlohmann::json& object, const PlaceAllReduce& placing);
std::string subject(const PlaceAllReduce& placing);

/// As place_of, in the backward phase.
inline std::optional<std::size_t> place_of(const Program& program, ExchangePlace after, int at) {
  return place_of(program, Phase::backward, after, at);
}

/// Runs after the decisions that slice gradients and move ops of backward, before assign_stream. It
/// moves the all-reduces of that slice, over every group of ranks in the pipeline stage of block
/// `at`, to right after the place. Of several at one place the highest layer comes first, then the
/// highest slice. The sums are over the same ranks as before. Ops that add the gradients of expert
/// replicas to the reduced gradients move too.
///
/// Throws Refusal where there is no such place, where nothing is reduced, and where
/// some of the gradients do not exist yet at that place.
Program apply(Program program, const PlaceAllReduce& placing);
/// One after the other.
Program apply_all(Program program, std::span<const PlaceAllReduce> placings);

}  // namespace moe
