#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "moe/program/program.h"
#include "moe/program/timeline.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// A deterministic fluid simulation of one iteration on all ranks.
///
/// Order. Every (rank, stream) is a queue of the ops of the rank's pipeline stage, in the order of
/// the Program's list. An op is *issued* when it is first in its queue, its stream is idle and
/// every op that it waits for (moe/program/start_rule.h) has ended on its rank; it starts a launch
/// gap later.
///
/// Computation and copies. An op with cost T seconds alone has an amount of work w(t), w(start) =
/// T, that falls at rate  dw/dt = -speed(y, X). Here y is its own occupation (computation or copy)
/// and X the set of occupations of the other streams of its rank: computation, communication
/// between nodes, communication inside a node, copies. With one x in X the speed is MPMoE's
/// alpha(y, x); with several it is the measured alpha(y, all), or the product of the pairs where
/// that is not known (costs/interference.h gives the reason). A collective occupies a rank from
/// the arrival of its last participant until it ends there, so ranks that wait for others slow
/// nothing down. Rates are constant between events, so from one event at t to the next at t'
///     w(t') = w(t) - rate (t' - t),   and with no further event the op ends at   t + w(t) / rate.
///
/// Processors. Where ranks share processors with P seats (Cluster::shared_processors) and n of
/// these ranks compute or copy, each gets P / n of a processor, as an operating system shares
/// cores: the rates of computation and copies are multiplied by min(1, P / n).
///
/// Communication. A participant's span begins when it arrives. When the last has arrived, at t0,
/// nothing moves for alpha. Where flows between nodes are under way through a card of the call's
/// nodes, nothing moves before that either, for LaunchGaps::queued_s or until these flows end.
/// Then, at t0 + alpha where there are none, all transfers of the call become flows with b bytes
/// left, db/dt = -r. The rates r are max-min fair (fair_share.h) over these links:
///   - the network card of each node, out and in; each rank's intra-node link, out and in;
///   - the bandwidth of one rank in this call, out and in: 1 / beta of the collective's fit, times
///     speed(y, X), where y is the link that the call occupies (the inter-node link if it crosses
///     nodes at all) and X the occupations of the rank's other streams.
/// A balanced call that runs alone so takes alpha + beta * bytes, as it was fitted; several calls
/// share the card without exceeding it. The call ends on a rank with the last flow that leaves or
/// enters that rank, so ranks with less to send and receive go on earlier. Flows that would end
/// within 1e-4 of the time they took end together with the last of them: never earlier than by
/// these rules, and at most that much later.
///
/// Messages. In an exchange of rows or counts no message between nodes depends on another. Where
/// MessageBuffers are known, and the call has its bytes pair by pair, what a rank sends begins to
/// move alpha after its own arrival. A message to a rank for which this time has not come yet moves
/// up to `ahead_bytes` of it. Messages from one rank to another on one stream follow each other. A
/// rank leaves the call, at t0 + alpha at the earliest, when it has received everything and no more
/// than `leaving_bytes` are still on their way to any peer.
///
/// The simulation repeats two steps until nothing is left: find the next event, advance to it. All
/// events at one instant are handled before rates are computed again, and only changed rates are:
/// an event costs O(log n) for computation and O(flows under way) when flows start or end. Ties are
/// broken by op, then rank.
class Simulation {
 public:
  /// Keeps references to all arguments.
  Simulation(const moe::Program& program, const moe::Groups& groups,
             const std::vector<OpCost>& costs, const CostModel& model, const Cluster& cluster);
  ~Simulation();

  /// The time of the next event; infinity where there is none.
  double next_event() const;
  /// Handles all events at `time`, which must be next_event().
  void advance(double time);
  /// The share of all ops on all ranks that have ended.
  double share_done() const;
  /// The timeline, once next_event() is infinity. Throws std::logic_error with an op that never
  /// ran. Ask once.
  moe::Timeline timeline();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs a Simulation to its end.
moe::Timeline run_simulation(const moe::Program& program, const moe::Groups& groups,
                             const std::vector<OpCost>& costs, const CostModel& model,
                             const Cluster& cluster);
/// The same with costs by class: ranks that are alike have one list of spans (Timeline::like).
moe::Timeline simulate(const moe::Program& program, const ProgramCosts& costs,
                       const CostModel& model, const Cluster& cluster);
/// Works out the costs of the ops and runs a Simulation. Throws as program_costs().
moe::Timeline simulate(const moe::Program& program, const moe::Groups& groups,
                       const moe::Routing& routing, const CostModel& costs, const Cluster& cluster);

}  // namespace tuner
