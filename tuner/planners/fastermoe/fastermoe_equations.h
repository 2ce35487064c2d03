#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/planners/placement/pro_prophet_equations.h"

/// FasterMoE's dynamic shadowing of one MoE layer [FasterMoE, its authors' code].
namespace tuner {

/// What a layer takes whose busiest expert has c rows, with i experts shadowed.
///   T = 3 (4 a H_m^2 / bw_mm) c + 4 (H_m s / bw_net) c + i 2 a H_m^2 s / bw_net  [FasterMoE, code]
/// H_m width, a = F / H_m of hidden width F, s bytes of an element: 3 times the forward computation
/// of c rows, 4 times what they take to travel, and the parameters of i experts once (the code
/// leaves gradients coming home out). `exchange`, `experts`: per row alone, as in the code;
/// `send_s`: the parameters of one expert.
double shadowed_layer_s(const RowCost& exchange, const RowCost& experts, double send_s,
                        std::int64_t rows, int shadowed);

/// Experts to shadow, most rows first, of equals the first: the first i of them while each makes
/// the time of what is then the busiest expert fall; the first that does not ends it, and the last
/// is never shadowed. [FasterMoE, code]
std::vector<int> shadowed_experts(std::span<const std::int64_t> rows_by_expert,
                                  const RowCost& exchange, const RowCost& experts, double send_s);

}  // namespace tuner
