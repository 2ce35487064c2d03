#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// Pro-Prophet's performance model of one MoE layer [Pro-Prophet IV-B, V-C]. The equations
/// themselves are lost in the text at hand; all here is reconstructed from the words around them
/// and the paper's Table II. Its symbols: R_i inputs that device i receives from others, H_i inputs
/// that it computes, s experts whose parameters are sent, n devices that they are not sent to, D
/// devices, E experts, I inputs of an iteration.
namespace tuner {

/// startup + rows * per row. The paper has no startup: all placements exchange as often, so it
/// decides nothing.
struct RowCost {
  double startup_s = 0;
  double per_row_s = 0;
};
double seconds_for(const RowCost& cost, std::int64_t rows);

/// What a layer costs on a machine.
struct ProProphetCosts {
  RowCost
      exchange;     ///< of one all-to-all, by the rows that the device receives which receives most
  RowCost experts;  ///< forward, by the rows that the device computes which computes most
  std::vector<double>
      trans_s;  ///< [k]: parameters of one expert to k devices beside its own; D values, [0] = 0
  std::vector<double> agg_s;  ///< [k]: its gradients from k devices
  double fnec_s = 0;          ///< computation of the block before that has no experts, forward
  double bnec_s = 0;          ///< and backward
};

/// T_a2a = max_i R_i size(input) / B [Pro-Prophet Eq. 1, reconstructed]
double all_to_all_s(const ProProphetCosts& costs, std::int64_t most_received);
/// T_FEC = max_i H_i / t [Pro-Prophet Eq. 2, reconstructed]
double forward_experts_s(const ProProphetCosts& costs, std::int64_t most_computed);
/// T_BEC = 2 T_FEC [Pro-Prophet Eq. 3, reconstructed]
double backward_experts_s(double forward_experts_s);
/// T_Trans, T_Agg: s transfers one after another, of one expert's parameters (gradients) each, to D
/// - n devices, its own among them. [Pro-Prophet Eqs. 4, 5, reconstructed] `transfer_s` is trans_s
/// or agg_s; `devices`: of every expert that is sent, those beside its own.
double transfers_s(std::span<const double> transfer_s, std::span<const int> devices);

/// The times of a layer's operations.
struct ProProphetTimes {
  double a2a_s = 0, fec_s = 0, trans_s = 0, agg_s = 0;
};
/// T = 4 T_a2a + 3 T_FEC + T_Trans + T_Agg [Pro-Prophet Eq. 6, reconstructed]
double blocking_layer_s(const ProProphetTimes& times);
/// T = 4 T_a2a + 3 T_FEC + T_PTrans + T_PAgg, of which is left what neighbouring computation does
/// not hide:
///   T_PTrans = max(0, T_Trans - T_FEC - T_FNEC)    T_PAgg = max(0, T_Agg - T_BEC - T_BNEC)
///                                                                              [Pro-Prophet Eq. 8, reconstructed]
double overlapped_layer_s(const ProProphetTimes& times, double fnec_s, double bnec_s);

/// max_i H_i - min_i H_i < a I / E [Pro-Prophet Eq. 7, reconstructed]
bool is_balanced(std::int64_t most_computed, std::int64_t least_computed, double a, double inputs,
                 int experts);

/// How a transfer is divided between two computations that it runs beside.
struct TransferShares {
  double known_s =
      0;  ///< beside that without experts, whose time is known beforehand: filled first
  double experts_s = 0;  ///< beside the experts: the rest, whether they hide it or not
};
/// [Pro-Prophet Alg. 2, reconstructed]
TransferShares split_transfer(double transfer_s, double known_s);

}  // namespace tuner
