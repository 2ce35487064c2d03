#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/binding.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/rank_classes.h"

namespace tuner {

/// Costs are by rank, or, where ranks are alike (rank_classes.h), by class of ranks. "Rank" below
/// means either. A class stands for several ranks, each on a node of its own.

/// Bytes of one collective from one rank to another.
struct Transfer {
  int from = 0;  ///< world ranks
  int to = 0;
  std::int64_t bytes = 0;
  bool between_nodes = false;
  // Of classes of ranks, on the average:
  double out = 1;  ///< how many such transfers leave each rank of `from`
  double in = 1;   ///< how many reach each rank of `to`
  int levels = 0;  ///< levels above the nodes that it crosses, the innermost ones
  /// The rank of its node to which it goes first, to leave by its card; -1: it leaves by its own.
  int relay = -1;
  double relayed = 1;  ///< of classes of ranks: how many leave by each rank of `relay`
};

/// Of a Transfer or a Flow: the rank by whose card it leaves its node, and how many leave by each.
template <typename Moved>
int sender_of(const Moved& moved) {
  return moved.relay < 0 ? moved.from : moved.relay;
}
template <typename Moved>
double sent_by_each(const Moved& moved) {
  return moved.relay < 0 ? moved.out : moved.relayed;
}

/// The bytes that one rank sends and receives in one collective.
struct RankBytes {
  double out_between = 0, in_between = 0;  ///< to and from other nodes, by its card
  double out_within = 0, in_within = 0;    ///< inside its node
  /// Of bytes for other nodes: those of its own that it passes to relays, and those that leave by
  /// its card as it is the relay.
  double passed_on = 0, relayed = 0;
  /// [level above the nodes]: by its card out of its block, or into it.
  std::array<double, moe::kMostLevels> out_of_block{}, into_block{};

  /// Its own bytes for other nodes, by whatever card.
  double for_other_nodes() const { return out_between + passed_on - relayed; }
};

/// One collective op in one of the groups that run it. Its bytes are `transfers`, pair by pair, or,
/// in a large call in which every rank sends to every other, `bytes` rank by rank.
struct GroupCall {
  std::vector<int> ranks;  ///< world ranks, ascending
  std::vector<Transfer> transfers;
  std::vector<RankBytes> bytes;  ///< [member]
  /// Each rank sends alike to every other, where `bytes` are given; else it receives alike.
  bool by_source = false;
  std::vector<int> copies;  ///< [member]: ranks of the call in its class; empty: 1 each
  double alpha_s = 0;
  Occupation link = Occupation::intra_node;  ///< the slowest link that it crosses
};

/// The most bytes that any rank of a call sends or receives on each link.
struct BusiestBytes {
  double between = 0, within = 0;
};
BusiestBytes busiest_bytes(const GroupCall& call);

/// What a collective costs on one kind of link.
struct LinkCost {
  double startup_s = 0;
  double pass_s = 0;  ///< of a fragment on a ring; 0 where the startup has the time of passing on
  double bytes_per_s = 0;  ///< of a rank, in each direction
};
/// The bytes of a collective on one kind of link.
struct SentBytes {
  double busiest = 0;         ///< sent or received by the rank with most; a fit is read there
  std::int64_t fragment = 0;  ///< of a ring; 0 without rings
};
/// By the collective's fit, else by the link's latency and bandwidth. On rings without a fit of
/// chains, pass_s is that of a fragment at this rate (ours).
LinkCost link_cost(const CostModel& costs, const moe::Op& op, Occupation occupation,
                   const Link& link, const SentBytes& sent);

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
  /// For computation and copies, [rank]: the time where nothing else runs; 0 in other stages. One
  /// value where all ranks that run the op take as long.
  std::vector<double> seconds;
  // For communication:
  std::vector<GroupCall> calls;
  std::vector<int> call_of;  ///< index into `calls`, by rank; -1 in other stages
  /// The bandwidth of one rank in this collective, in each direction: 1 / beta of its fit, or that
  /// of the link.
  double inter_node_bytes_per_s = 0;
  double intra_node_bytes_per_s = 0;
  MessageBuffers buffers;  ///< of exchanges; else none
};

/// The links that the bytes of a collective cross.
struct Crossed {
  bool between_nodes = false, within_node = false;
  int levels = 0;  ///< above the nodes, at most
};
Crossed crossed_by(const OpCost& cost);

/// The time of an op that computes or copies on a rank that runs it, where nothing else runs.
inline double seconds_on(const OpCost& cost, int rank) {
  return cost.seconds[cost.seconds.size() == 1 ? 0 : rank];
}
/// How many ranks of a call a member stands for.
inline int copies_of(const GroupCall& call, std::size_t member) {
  return call.copies.empty() ? 1 : call.copies[member];
}

/// The occupation of an op that computes or copies.
Occupation occupation_of(const OpCost& cost);

/// The costs of every op, by class of ranks.
struct ProgramCosts {
  RankClasses classes;
  std::vector<OpCost> ops;
};

/// How far costs fold what is alike.
struct Folding {
  int most_single = kMostSingleRanks;  ///< of more ranks, those that are alike become classes
  /// A call of single ranks with more pairs of ranks than this has its bytes by rank.
  std::int64_t most_pairs = std::int64_t{kMostSingleRanks} * kMostSingleRanks;
  int most_even = kMostSingleEvenRanks;  ///< as most_single, where loads are even
};

inline constexpr Folding kNotFolded{1 << 30, std::int64_t{1} << 60, 1 << 30};

/// The costs of every op of `program`. Bindings are made for one rank of those that are alike in a
/// layer, and layer by layer. An exchange of counts ends when the rule of its layer is worked out
/// (rule_time.h). Throws moe::Refusal where a fit is missing (cost_model.h), and where a
/// collective needs a link, inside nodes or between them, that the cluster does not have.
ProgramCosts program_costs(const moe::Program& program, const moe::Groups& groups,
                           const moe::Routing& routing, const CostModel& costs,
                           const Cluster& cluster, const Folding& folding = {});

/// The binding of every rank.
std::vector<moe::Binding> bind_all(const moe::Program& program, const moe::Groups& groups,
                                   const moe::Routing& routing);

/// The least time that a member with these bytes is busy with a call: alpha + the larger of its bytes
/// out and in, divided by the bandwidth that the collective's fit and the link allow. What goes to a
/// relay has the link's.
double seconds_of_bytes(const RankBytes& bytes, const OpCost& cost, const GroupCall& call,
                        const Cluster& cluster);

/// That of each member.
std::vector<double> member_seconds(const OpCost& cost, const GroupCall& call,
                                   const Cluster& cluster);

/// The time of an op on its slowest rank where nothing else runs. All its groups run at once and
/// share network cards and uplinks.
double alone_seconds(const OpCost& cost, const moe::Groups& groups, const Cluster& cluster);

}  // namespace tuner
