#pragma once

#include <string>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "moe/rows/routing.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/cost_model.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// Times that no execution of a scheduled Program can beat under a cost model. They assume no
/// interference, no gaps between ops, and no waits for late participants on a busy stream.
struct LowerBound {
  /// The most work of its own that any (rank, stream) has, one op after another; or, where ranks
  /// share processors, the computation and copies of all of them over the processors.
  double stream_s = 0;
  /// The most that any network card, intra-node link, pair of a mesh or uplink of a block has to
  /// carry, at its rate.
  double link_s = 0;
  /// The longest chain of dependencies, which collectives carry over ranks.
  double chain_s = 0;
  std::string
      where;  ///< the bound: "rank 2 compute", "node 0 out", "rack 1 in", "chain to op 17 of rank 3"

  std::string stream, link;  ///< those that set stream_s and link_s

  double seconds() const;  ///< the largest of the three
};

/// The length of an op on a rank is its cost alone; that of a collective is alpha + max over the
/// rank's links of bytes / (the bandwidth that the link or the collective's fit allows). Where
/// messages go ahead or still leave, it is the least of it (costs/call_buffers.h). Never more than
/// simulate() gives.
LowerBound lower_bound(const moe::Program& program, const moe::Groups& groups,
                       const std::vector<OpCost>& costs, const Cluster& cluster);
/// The same by class of ranks. The bound names the first rank of a class.
LowerBound lower_bound(const moe::Program& program, const ProgramCosts& costs,
                       const Cluster& cluster);
LowerBound lower_bound(const moe::Program& program, const moe::Groups& groups,
                       const moe::Routing& routing, const CostModel& costs, const Cluster& cluster);

}  // namespace tuner
