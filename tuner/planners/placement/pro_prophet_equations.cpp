#include "tuner/planners/placement/pro_prophet_equations.h"

#include <algorithm>

namespace tuner {

double seconds_for(const RowCost& cost, std::int64_t rows) {
  return cost.startup_s + cost.per_row_s * static_cast<double>(rows);
}

double all_to_all_s(const ProProphetCosts& costs, std::int64_t most_received) {
  return seconds_for(costs.exchange, most_received);
}

double forward_experts_s(const ProProphetCosts& costs, std::int64_t most_computed) {
  return seconds_for(costs.experts, most_computed);
}

double backward_experts_s(double forward_experts_s) { return 2 * forward_experts_s; }

double blocking_layer_s(const ProProphetTimes& times) {
  return overlapped_layer_s({times.a2a_s, times.fec_s, 0, 0}, 0, 0) + times.trans_s + times.agg_s;
}

double overlapped_layer_s(const ProProphetTimes& times, double fnec_s, double bnec_s) {
  const double bec_s = backward_experts_s(times.fec_s);
  return 4 * times.a2a_s + times.fec_s + bec_s +
         std::max(0.0, times.trans_s - times.fec_s - fnec_s) +
         std::max(0.0, times.agg_s - bec_s - bnec_s);
}

double scheduled_layer_s(const ProProphetTimes& times, const BesideTransfers& beside) {
  const auto not_hidden_s = [&](double transfer_s, double beside_s) {
    return std::max(transfer_s - beside_s, (1 - beside.speed) * transfer_s);
  };
  return overlapped_layer_s({times.a2a_s, times.fec_s, 0, 0}, 0, 0) +
         not_hidden_s(times.trans_s, beside.trans_s) + not_hidden_s(times.agg_s, beside.agg_s);
}

bool is_balanced(std::int64_t most_computed, std::int64_t least_computed, double a, double inputs,
                 int experts) {
  return static_cast<double>(most_computed - least_computed) < a * inputs / experts;
}

TransferShares split_transfer(double transfer_s, double known_s) {
  const double beside_known_s = std::min(transfer_s, std::max(known_s, 0.0));
  return {beside_known_s, transfer_s - beside_known_s};
}

}  // namespace tuner
