#pragma once

#include <functional>
#include <list>
#include <span>
#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/op_costs.h"
#include "tuner/simulate/flow_rates.h"
#include "tuner/simulate/moving_call.h"

namespace tuner {

/// Sets the rates of all flows that are under way: max-min fair over the links of flow_rates.h, for
/// transfers between two ranks (`pairs`) and for large calls (moving_call.h) beside each other.
///
/// It is the progressive filling of fair_share.h, with transfers of large calls counted and not
/// listed. All rates rise together. When a link is full at level x, transfers over it stay at x.
/// In a large call every rank s sends to every rank d, so that a transfer rises while neither a
/// link of s nor one of d is full, and its rate is the lower of the two levels:
///     rate(s, d) = min(y_s, y_d)
/// With F the sum of the levels y_d of ranks that have found theirs, and n the number of those that
/// still rise, a link of s alone is full at
///     x = (capacity - F) / n
/// and a card adds up F and n over the ranks of its node and over calls. F and n are kept for each
/// node and in total, since a rank's transfers to its own node take other links. Nodes on which all
/// is alike are filled once. This gives the rates that the transfers would have one by one.
void share_links(std::list<MovingCall>& calls, std::span<Flow> pairs,
                 const std::vector<OpCost>& costs, const moe::Groups& groups,
                 const Cluster& cluster,
                 const std::function<double(int rank, Occupation link)>& speed);

}  // namespace tuner
