#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "moe/ops/exchange.h"
#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Computes the gradient of a parameter right after the start of an exchange of the backward phase,
/// so that it runs while rows travel.  [Lancet 4: weight gradients hidden by all-to-alls]
struct PlaceWeightGradient {
  static constexpr std::string_view name = "place_weight_gradient";
  static constexpr std::string_view description =
      "computes a weight gradient while rows of an exchange travel";
  static constexpr bool changes_results = false;
  std::string parameter;  ///< "block3.attention.output.weight"
  int layer = 0;          ///< the layer of the exchange
  Direction direction = Direction::dispatch;
  int chunk = 0;  ///< the chunk of the exchange, where it is cut (share_of)
  friend auto operator<=>(const PlaceWeightGradient&, const PlaceWeightGradient&) = default;
  static PlaceWeightGradient read(const InputObject& input);
};
void write(nlohmann::json& object, const PlaceWeightGradient& placing);
std::string subject(const PlaceWeightGradient& placing);

/// True for an op of the backward phase that computes only gradients of parameters, without
/// communication.
bool makes_weight_gradients(const Program& program, const Op& op);

/// Runs after order_micro_batches and before assign_stream. In every micro-batch it moves the ops
/// that compute the parameter's gradient to right after the exchange of the same micro-batch, in
/// the order they had.
///
/// Throws Refusal where there is no such parameter, gradient or exchange, where the
/// gradient was placed before, and where one of the ops in between reads what these make, or makes
/// what these read.
Program apply(Program program, const PlaceWeightGradient& placing);
/// One after the other, in about the time of one. Each is of another parameter.
Program apply_all(Program program, std::span<const PlaceWeightGradient> placings);

}  // namespace moe
