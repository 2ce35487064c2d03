#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/ops/pack.h"
#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Send the rows of one phase of one MoE layer in fewer bits: dispatch and combine, or their gradients.
struct CompressExchange {
  static constexpr std::string_view name = "compress_exchange";
  /// Every row is rounded on its way: losses and gradients are others, close ones, and still the same ones on any
  /// ranks but for what rounding makes of the least differences.
  static constexpr bool changes_results = true;
  int layer = 0;
  Phase phase = Phase::forward;
  WireFormat format = WireFormat::bf16;
  friend auto operator<=>(const CompressExchange&, const CompressExchange&) = default;
  static CompressExchange read(const InputObject& input);
};
void write(nlohmann::json& object, const CompressExchange& compress);
std::string subject(const CompressExchange& compress);

/// Runs behind replicate_experts alone, so that what it adds is cut with the rest. Each all-to-all of the layer and phase gets an op before it that
/// packs its rows, carries these, and an op behind it that unpacks them. Throws std::invalid_argument where there is no
/// all-to-all, or rows are packed already.
Program apply(Program program, const CompressExchange& compress);

}  // namespace moe
