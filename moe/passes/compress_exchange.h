#pragma once

#include <compare>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "moe/ops/pack.h"
#include "moe/program/program.h"

namespace moe {

class InputObject;

/// Sends the rows of one phase of one MoE layer in fewer bits: the rows of dispatch and combine, or
/// their gradients.
struct CompressExchange {
  static constexpr std::string_view name = "compress_exchange";
  static constexpr std::string_view description =
      "sends the rows of a MoE layer as bf16, or as int8 with scales";
  /// Every row is rounded on its way, so losses and gradients differ slightly from those without.
  /// They remain the same on any number of ranks, except where rounding magnifies the smallest
  /// differences.
  static constexpr bool changes_results = true;
  int layer = 0;
  Phase phase = Phase::forward;
  WireFormat format = WireFormat::bf16;
  friend auto operator<=>(const CompressExchange&, const CompressExchange&) = default;
  static CompressExchange read(const InputObject& input);
};
void write(nlohmann::json& object, const CompressExchange& compress);
std::string subject(const CompressExchange& compress);

/// Runs after replicate_experts and before all other decisions, so that they also cut and move what
/// it adds: each all-to-all of the layer and phase gets an op before it that packs its rows,
/// carries the packed rows, and gets an op after it that unpacks them. Throws Refusal
/// where there is no all-to-all, or where rows are packed already.
Program apply(Program program, const CompressExchange& compress);

}  // namespace moe
