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
/// Order. Every (rank, stream) is a queue in the order of the Program's list, of the ops of the rank's
/// pipeline stage. An op is *issued*
/// when it is first in its queue, its stream is idle and everything it waits for
/// (moe/program/start_rule.h) has ended on its rank; it starts a launch gap later.
///
/// Computation and copies. An op with cost T seconds alone has an amount of work w(t), w(start) = T,
/// that falls at rate  dw/dt = -speed(y, X)  for its own occupation y (computation or copy) beside X, the
/// set of occupations of the other streams of its rank: computation, communication between nodes, inside
/// a node, copies. Of one x that is MPMoE's alpha(y, x), of several the measured alpha(y, all), or the
/// product of the pairs where that is not known (costs/interference.h, which says why); of a computing op
/// whose kind's own slowdown beside communication is known, that takes the place of the pair's. A collective
/// occupies a rank from the arrival of its last participant on: ranks that wait for others are slowed by
/// nothing. Rates are constant between events, so from one event at t to the next at t'
///     w(t') = w(t) - rate (t' - t),   and with no further event the op ends at   t + w(t) / rate.
///
/// Processors. Where ranks share processors on which P of them have a seat (Cluster::shared_processors), and n
/// of them compute or copy, each gets P / n of one: their rates of both are multiplied by min(1, P / n), as an
/// operating system shares cores out.
///
/// Communication. A participant's span begins when it arrives. When the last has arrived, at t0,
/// nothing moves for alpha; at t0 + alpha all transfers of the call become flows with b bytes left,
/// db/dt = -r. The rates r are max-min fair (fair_share.h) over these links:
///   - the network card of each node, out and in; each rank's intra-node link, out and in;
///   - what one rank reaches in this call, out and in: 1 / beta of the collective's fit, times
///     speed(y, X), y the link that the call occupies (the inter-node one where it crosses nodes at
///     all) and X what its rank does on other streams.
/// Alone and balanced, a call so takes alpha + beta * bytes, as it was fitted; several calls share
/// the card without exceeding it. The call ends on a rank with the last flow that leaves or enters
/// that rank, so ranks with less to do go on earlier. Flows that would end within 1e-4 of the time they took
/// end with the last of them: never earlier than by these rules, and that much later at most.
///
/// Two verbs, repeated until nothing is left: when is the next event, advance to it. Everything at
/// one instant is handled before rates are computed anew, and only for what changed: an event costs
/// O(log n) for computation and O(flows under way) when flows start or end. Ties by op, then rank.
class Simulation {
 public:
  /// Refers to all of these but the costs of the ops for as long as it lives.
  Simulation(const moe::Program& program, const moe::Groups& groups, std::vector<OpCost> costs,
             const CostModel& model, const Cluster& cluster);
  ~Simulation();

  /// Time of the next event; infinity when there is none.
  double next_event() const;
  /// Handles all that happens at `time`, which is next_event().
  void advance(double time);
  /// What has happened, once next_event() is infinity. Throws std::logic_error naming an op that
  /// never ran.
  moe::Timeline timeline() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs a Simulation to its end.
moe::Timeline run_simulation(const moe::Program& program, const moe::Groups& groups,
                             std::vector<OpCost> costs, const CostModel& model,
                             const Cluster& cluster);
/// The same, of costs worked out. Throws as op_costs().
moe::Timeline simulate(const moe::Program& program, const moe::Groups& groups,
                       const moe::Routing& routing, const CostModel& costs, const Cluster& cluster);

}  // namespace tuner
