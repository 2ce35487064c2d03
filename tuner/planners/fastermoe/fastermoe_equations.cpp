#include "tuner/planners/fastermoe/fastermoe_equations.h"

#include "tuner/planners/placement/most_loaded_experts.h"

namespace tuner {

double shadowed_layer_s(const RowCost& exchange, const RowCost& experts, const ShadowCost& shadow,
                        std::int64_t rows, int shadowed) {
  return (3 * experts.per_row_s + 4 * exchange.per_row_s) * static_cast<double>(rows) +
         shadowed * shadow.each_s + (shadowed > 0 ? shadow.any_s : 0);
}

std::vector<int> shadowed_experts(std::span<const std::int64_t> rows_by_expert,
                                  const RowCost& exchange, const RowCost& experts,
                                  const ShadowCost& shadow) {
  const std::vector<int> order = most_loaded(rows_by_expert);
  const auto layer_s = [&](std::size_t shadowed) {
    const auto busiest = static_cast<std::size_t>(order[shadowed]);
    return shadowed_layer_s(exchange, experts, shadow, rows_by_expert[busiest],
                            static_cast<int>(shadowed));
  };
  std::size_t shadowed = 0;
  while (shadowed + 1 < order.size() && layer_s(shadowed + 1) < layer_s(shadowed)) ++shadowed;
  return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shadowed)};
}

}  // namespace tuner
