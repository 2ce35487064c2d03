#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "moe/rows/expert_placement.h"

/// Pro-Prophet's performance model of one MoE layer [Pro-Prophet IV-B, V-C]. The equations are lost
/// in the text at hand: all of them are reconstructed from the words around them and the paper's
/// Table II. Its symbols: R_i is the number of inputs that device i receives from others, H_i the
/// number that it computes, s the number of experts whose parameters are sent, n the number of
/// devices that they are not sent to, D devices, E experts, I inputs of an iteration.
namespace tuner {

/// startup + rows * per row. The paper has no startup. It decides nothing, as every placement has
/// equally many exchanges.
struct RowCost {
  double startup_s = 0;
  double per_row_s = 0;
};
double seconds_for(const RowCost& cost, std::int64_t rows);

/// The exchange that brings the parameters, or the gradients, of all experts that are sent.
///   T_Trans = s size(params) / B, T_Agg = s size(gradients) / B  [Pro-Prophet Eqs. 4, 5,
///   reconstructed; the authors' code: one broadcast or reduce an expert, whatever the devices]
/// The size over the bandwidth is that of an expert through one link; s is counted at the busiest
/// link (transfer_loads.h). With a ring through all devices that is every expert that is sent. The
/// startups are ours.
struct TransferCost {
  struct OnLink {
    double startup_s = 0;  ///< of the exchange, where this is the slowest link that it crosses
    double pass_s = 0;     ///< of a fragment on a ring
    double expert_s = 0;   ///< an expert out of a device, or into one
  };
  OnLink across;      ///< between devices of different nodes
  OnLink within;      ///< between devices of a node
  double card_s = 0;  ///< an expert through a network card
  struct OnUplink {
    double startup_s = 0;  ///< more than where it is not crossed
    double expert_s = 0;   ///< an expert through the uplink of a block
  };
  std::vector<OnUplink> levels{};  ///< above the nodes
};
struct RouteCost {
  TransferCost trans;  ///< parameters
  TransferCost agg;    ///< gradients
};

/// The computation beside which transfers of a layer run (hidden_transfers.h). [ours]
struct BesideTransfers {
  /// Of parameters: FNEC, and the experts of the MoE layer before.
  double trans_s = 0;
  /// Of gradients: BNEC, and the input gradients of those experts. The exchange of rows that
  /// follows the transfer on its stream waits for no more of them.
  double agg_s = 0;
  double speed = 1;  ///< of computation while a transfer runs
};

/// Where the devices of an expert group are: by which links one reaches another.
struct DevicePlaces {
  std::vector<int> node_of{};  ///< [device]: its node, from 0
  std::vector<int> card_of{};  ///< its network card, from 0; empty: nodes have one each
  /// [from][to]: the device by whose card what goes to another node leaves; empty: its own.
  std::vector<std::vector<int>> sender{};
  std::vector<std::vector<int>> block_of{};  ///< [level above the nodes][device], from 0

  friend bool operator==(const DevicePlaces&, const DevicePlaces&) = default;
};

/// The costs of a layer on a machine.
struct ProProphetCosts {
  RowCost exchange;  ///< one all-to-all, by the largest number of rows that a device receives
  RowCost experts;   ///< forward, by the largest number of rows that a device computes
  std::array<RouteCost, moe::kExpertRoutes> routes{};  ///< by moe::ExpertRoute
  DevicePlaces places{};
  double fnec_s = 0;  ///< computation without experts in the block before, forward
  double bnec_s = 0;  ///< the same, backward
  BesideTransfers beside{};
};
inline const RouteCost& route_cost(const ProProphetCosts& costs, moe::ExpertRoute route) {
  return costs.routes[static_cast<std::size_t>(route)];
}

/// T_a2a = max_i R_i size(input) / B [Pro-Prophet Eq. 1, reconstructed]
double all_to_all_s(const ProProphetCosts& costs, std::int64_t most_received);
/// T_FEC = max_i H_i / t [Pro-Prophet Eq. 2, reconstructed]
double forward_experts_s(const ProProphetCosts& costs, std::int64_t most_computed);
/// T_BEC = 2 T_FEC [Pro-Prophet Eq. 3, reconstructed]
double backward_experts_s(double forward_experts_s);

/// The times of a layer's operations.
struct ProProphetTimes {
  double a2a_s = 0, fec_s = 0, trans_s = 0, agg_s = 0;
};
/// T = 4 T_a2a + 3 T_FEC + T_Trans + T_Agg [Pro-Prophet Eq. 6, reconstructed]
double blocking_layer_s(const ProProphetTimes& times);
/// T = 4 T_a2a + 3 T_FEC + T_PTrans + T_PAgg: transfers count as far as neighbouring computation
/// does not hide them.
///   T_PTrans = max(0, T_Trans - T_FEC - T_FNEC)    T_PAgg = max(0, T_Agg - T_BEC - T_BNEC)
///                                                           [Pro-Prophet Eq. 8, reconstructed]
double overlapped_layer_s(const ProProphetTimes& times, double fnec_s, double bnec_s);

/// The same with what the Program of this toolkit hides of them [ours]:
///   T_PTrans = max(T_Trans - h, (1 - v) T_Trans)
/// where h is the computation beside the transfer and v the speed that it has there; T_PAgg alike.
double scheduled_layer_s(const ProProphetTimes& times, const BesideTransfers& beside);

/// max_i H_i - min_i H_i < a I / E [Pro-Prophet Eq. 7, reconstructed]
bool is_balanced(std::int64_t most_computed, std::int64_t least_computed, double a, double inputs,
                 int experts);

/// The shares of a transfer beside two computations.
struct TransferShares {
  /// Beside computation without experts. Its time is known beforehand, so it is filled first.
  double known_s = 0;
  double experts_s = 0;  ///< beside the experts: the rest, even if they do not hide it
};
/// [Pro-Prophet Alg. 2, reconstructed]
TransferShares split_transfer(double transfer_s, double known_s);

}  // namespace tuner
