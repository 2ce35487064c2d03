#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/planners/placement/pro_prophet_equations.h"

/// FasterMoE's dynamic shadowing of one MoE layer [FasterMoE, its authors' code].
namespace tuner {

/// What shadows cost. The code counts the parameters of each alone. Gradients come home all the
/// same, and every exchange has to start: the planner counts both, so that the rule does not shadow
/// what costs more than it gains (ours).
struct ShadowCost {
  double each_s = 0;
  double any_s = 0;  ///< once, where there are any
};

/// The time of a layer whose busiest expert has c rows, with i experts shadowed.
///   T = 3 (4 a H_m^2 / bw_mm) c + 4 (H_m s / bw_net) c + i 2 a H_m^2 s / bw_net  [FasterMoE, code]
/// H_m is the width, a = F / H_m for hidden width F, s the bytes of an element. The terms are 3
/// times the forward computation of c rows, 4 times their exchange, and the parameters of i experts
/// once. `exchange` and `experts` count per row alone, as in the code.
double shadowed_layer_s(const RowCost& exchange, const RowCost& experts, const ShadowCost& shadow,
                        std::int64_t rows, int shadowed);

/// The experts to shadow, most rows first (equal numbers: the first). Experts are added while each
/// lowers the time of the expert that is then the busiest. The first that does not ends the search,
/// and the last expert is never shadowed. [FasterMoE, code]
std::vector<int> shadowed_experts(std::span<const std::int64_t> rows_by_expert,
                                  const RowCost& exchange, const RowCost& experts,
                                  const ShadowCost& shadow);

}  // namespace tuner
