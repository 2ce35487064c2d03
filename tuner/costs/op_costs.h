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
  Occupation link = Occupation::intra_node;  ///< the slowest link that it crosses
};

/// What a collective costs on one kind of link.
struct LinkCost {
  double startup_s = 0;
  double pass_s = 0;  ///< of a fragment on a ring; 0 where the startup has the time of passing on
  double bytes_per_s = 0;  ///< of a rank, in each direction
};
/// By the collective's fit, else by the link's latency and bandwidth. On rings without a fit of
/// chains, pass_s is that of `fragment_bytes` at this rate (ours).
LinkCost link_cost(const CostModel& costs, const moe::Op& op, Occupation occupation,
                   const Link& link, std::int64_t fragment_bytes);

/// The links of one ring.
struct RingHops {
  int across = 0, within = 0;  ///< between nodes, and inside them
  friend bool operator==(const RingHops&, const RingHops&) = default;
};
/// The time before the last rank of a ring gets its first fragment, beyond that of one pass: all
/// that comes after is hidden behind the slowest link. `across_s`, `within_s`: one pass.
double ring_fill_s(const RingHops& hops, double across_s, double within_s);

/// Everything that simulate() and lower_bound() need to know of one op.
struct OpCost {
  moe::Activity activity = moe::Activity::computation;
  /// For computation and copies, [rank]: the time where nothing else runs; 0 in other stages.
  std::vector<double> seconds;
  std::optional<double> speed_beside_communication;  ///< for its own kind, where it was measured
  // For communication:
  std::vector<GroupCall> calls;
  std::vector<int> call_of;  ///< index into `calls`, by rank; -1 in other stages
  /// The bandwidth of one rank in this collective, in each direction: 1 / beta of its fit, or that
  /// of the link.
  double inter_node_bytes_per_s = 0;
  double intra_node_bytes_per_s = 0;
};

/// The occupation of an op that computes or copies.
Occupation occupation_of(const OpCost& cost);

/// The costs of every op of `program` on every rank. `bindings` are by rank. Throws moe::Refusal
/// where a fit is missing (cost_model.h), and where a collective needs a link, inside nodes or
/// between them, that the cluster does not have.
std::vector<OpCost> op_costs(const moe::Program& program, const moe::Groups& groups,
                             const std::vector<moe::Binding>& bindings, const CostModel& costs,
                             const Cluster& cluster);

/// The binding of every rank.
std::vector<moe::Binding> bind_all(const moe::Program& program, const moe::Groups& groups,
                                   const moe::Routing& routing);

/// The bytes of a call through the network card of each node and the intra-node link of each rank.
struct LinkLoads {
  std::vector<double> node_out, node_in;  ///< by node
  std::vector<double> rank_out, rank_in;  ///< by rank, within its node
};
LinkLoads link_loads(const GroupCall& call, const moe::Groups& groups);

/// The least time that each member of a call is busy with it, by world rank (0 for others). It is
/// alpha + the larger of its bytes out and in, divided by the bandwidth that the collective's fit
/// and the link allow.
std::vector<double> call_seconds(const OpCost& cost, const GroupCall& call,
                                 const moe::Groups& groups, const Cluster& cluster);

/// The time of an op on its slowest rank where nothing else runs. All its groups run at once and
/// share the network cards of nodes.
double alone_seconds(const OpCost& cost, const moe::Groups& groups, const Cluster& cluster);

}  // namespace tuner
