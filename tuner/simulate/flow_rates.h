#pragma once

#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// A transfer of a collective that is under way.
struct Flow {
  int op = 0;
  int call = 0;
  int from = 0, to = 0;                ///< world ranks
  int from_member = 0, to_member = 0;  ///< places in the call
  double bytes_left = 0;
  double rate = 0;
  double began = 0;                                      ///< time
  double end = std::numeric_limits<double>::infinity();  ///< time, at this rate
  bool between_nodes = false;
  double out = 1, in = 1;  ///< Transfer::out and in
  int levels = 0;          ///< the same of a Transfer, and of its relay, if any
  int relay = -1, relay_member = -1;
  double relayed = 1;
  /// Bytes left when it next stops: 0 at its end; more where its receiver has not come, or where
  /// its sender goes on.
  double stop_bytes = 0;
  // Of messages between two ranks that follow each other (channels.h):
  int channel = -1;       ///< -1: it is none of them
  double held_bytes = 0;  ///< the last ones, which wait until the receiver comes
};

/// Max-min fair rates (fair_share.h) of flows, in bytes per second and in their order. They are
/// limited by the network cards, by the uplinks of blocks, by the links of ranks inside nodes, and by
/// the bandwidth of each rank in each call: that of the collective times `speed(rank, link)`, where
/// `link` is the one that the call keeps busy. What leaves by the card of a relay counts there; on
/// its way to the relay the links inside the node limit it. Each flow is one transfer (out and in
/// are 1).
std::vector<double> flow_rates(std::span<const Flow> flows, const std::vector<OpCost>& costs,
                               const moe::Groups& groups, const Cluster& cluster,
                               const std::function<double(int rank, Occupation link)>& speed);

}  // namespace tuner
