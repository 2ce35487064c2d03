#pragma once

#include <optional>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/binding.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"

namespace tuner {

/// Bytes of one collective from one rank to another.
struct Transfer {
  int from = 0;  ///< world ranks
  int to = 0;
  std::int64_t bytes = 0;
};

/// One collective op in one of the groups that run it.
struct GroupCall {
  std::vector<int> ranks;  ///< world ranks, ascending
  std::vector<Transfer> transfers;
  double alpha_s = 0;
  Occupation link = Occupation::intra_node;  ///< what it keeps busy: the slowest that it crosses
};

/// Everything that simulate() and lower_bound() need to know of one op.
struct OpCost {
  moe::Activity activity = moe::Activity::computation;
  std::vector<double>
      seconds;  ///< of what computes or copies, by rank, with the device to itself; 0 in other stages
  std::optional<double> speed_beside_communication;  ///< of its own kind, where it was measured
  // Of communication:
  std::vector<GroupCall> calls;
  std::vector<int> call_of;  ///< index into `calls`, by rank; -1 in other stages
  /// What one rank reaches in this collective, each direction: 1 / beta of its fit, or the link's
  /// bandwidth.
  double inter_node_bytes_per_s = 0;
  double intra_node_bytes_per_s = 0;
};

/// Of what computes or copies.
Occupation occupation_of(const OpCost& cost);

/// Costs of every op of `program` on every rank. Bindings by rank. Throws std::out_of_range where a
/// fit is missing (cost_model.h), std::invalid_argument where ranks on one node, or on several,
/// meet in a collective and the cluster has no such link.
std::vector<OpCost> op_costs(const moe::Program& program, const moe::Groups& groups,
                             const std::vector<moe::Binding>& bindings, const CostModel& costs,
                             const Cluster& cluster);

/// The binding of every rank.
std::vector<moe::Binding> bind_all(const moe::Program& program, const moe::Groups& groups,
                                   const moe::Routing& routing);

/// Bytes through the network card of each node and the intra-node link of each rank.
struct LinkLoads {
  std::vector<double> node_out, node_in;  ///< by node
  std::vector<double> rank_out, rank_in;  ///< by rank, within its node
};
LinkLoads link_loads(const GroupCall& call, const moe::Groups& groups);

/// How long each member of a call is busy with it at least, by world rank (0 elsewhere): alpha +
/// the largest of bytes out and in, divided by what the collective's fit and the link allow.
std::vector<double> call_seconds(const OpCost& cost, const GroupCall& call,
                                 const moe::Groups& groups, const Cluster& cluster);

/// Time of an op on its slowest rank with nothing beside it: all its groups at once, which share the cards of nodes.
double alone_seconds(const OpCost& cost, const moe::Groups& groups, const Cluster& cluster);

}  // namespace tuner
