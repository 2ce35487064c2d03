#pragma once

#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"
#include "tuner/costs/op_costs.h"
#include "tuner/planners/placement/pro_prophet_equations.h"

/// How many experts go through which link while a layer's experts are sent to their holders, all in
/// one exchange. Gradients come home through the same links the other way. [ours]
namespace tuner {

class TransferLoads {
 public:
  /// Keeps a reference to `places`, those of the members of the expert group.
  TransferLoads(const DevicePlaces& places, moe::ExpertRoute route);

  /// Adds an expert. `holders`: members beside its home, in any order.
  void send(int home, std::span<const int> holders);

  /// The time of the exchange; 0 where nothing is sent.
  double seconds(const TransferCost& cost) const;

 private:
  /// Experts that leave and enter.
  struct Load {
    int out = 0, in = 0;
  };
  void move(int from, int to);

  const DevicePlaces* places_;
  moe::ExpertRoute route_;
  std::vector<Load> across_, within_;      // [member]: to and from other nodes, and on its own
  std::vector<Load> card_;                 // [network card]
  std::vector<std::vector<Load>> blocks_;  // [level above the nodes][block]
  int most_across_ = 0, most_within_ = 0, most_card_ = 0;
  std::vector<int> most_of_block_;  // [level above the nodes]
  std::vector<RingHops> rings_;     // those of other hops than the rest
  bool sends_ = false;
};

/// T_Trans and T_Agg of one placement.
struct TransferTimes {
  double trans_s = 0, agg_s = 0;
};

/// The same experts by either route.
class TransfersByRoute {
 public:
  explicit TransfersByRoute(const ProProphetCosts& costs);
  /// As TransferLoads::send.
  void send(int home, std::span<const int> holders);

  struct Cheapest {
    moe::ExpertRoute route = moe::ExpertRoute::unicast;
    TransferTimes times;
    TransferTimes least;  ///< of either route, each
  };
  /// The route by which parameters and gradients together take least (equal times: unicast).
  Cheapest cheapest(const ProProphetCosts& costs) const;

 private:
  TransferLoads unicast_, ring_;
};

/// With the route of the placement. `homes`: [expert].
TransferTimes transfer_times(const ProProphetCosts& costs, const moe::ExpertPlacement& placement,
                             std::span<const int> homes);
/// TransfersByRoute::cheapest of its replicas.
moe::ExpertRoute cheapest_route(const ProProphetCosts& costs, const moe::ExpertPlacement& placement,
                                std::span<const int> homes);

}  // namespace tuner
