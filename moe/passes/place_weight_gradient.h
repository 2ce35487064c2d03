#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/ops/exchange.h"
#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Work out the gradient of a parameter right behind the launch of an exchange of the backward phase, where it
/// can run while rows travel.  [Lancet 4: weight gradients hidden behind all-to-alls]
struct PlaceWeightGradient {
  static constexpr std::string_view name = "place_weight_gradient";
  static constexpr bool changes_results = false;
  std::string parameter;  ///< "block3.attention.output.weight"
  int layer = 0;          ///< of the exchange
  Direction direction = Direction::dispatch;
  int chunk = 0;  ///< of the exchange, where it is cut: chunk, or part of the batch
  friend auto operator<=>(const PlaceWeightGradient&, const PlaceWeightGradient&) = default;
  static PlaceWeightGradient read(const InputObject& input);
};
void write(nlohmann::json& object, const PlaceWeightGradient& placing);
std::string subject(const PlaceWeightGradient& placing);

/// True for an op of the backward phase that makes nothing but gradients of parameters on its own rank.
bool makes_weight_gradients(const Program& program, const Op& op);

/// Runs after what orders micro-batches and before assign_stream. The ops that make the parameter's gradient, in
/// every micro-batch, come to stand behind the exchange of the same micro-batch, in the order they had.
///
/// Throws std::invalid_argument where there is no such parameter, gradient or exchange, where the gradient was
/// placed before, and where one reads what the other makes.
Program apply(Program program, const PlaceWeightGradient& placing);

}  // namespace moe
