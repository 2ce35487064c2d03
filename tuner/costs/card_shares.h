#pragma once

#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// How the ranks that send by one network card share it. A fit is of ranks that all send alike, so
/// that it has the rate of a rank's share of a card, and its bytes are those of such a rank. Where
/// rows go to few ranks, one rank may use most of its card.
struct CardShares {
  double even = 0;  ///< bytes of a rank of the busiest card, if its ranks in the call had as many
  double busiest = 0;  ///< bytes of the busiest rank

  /// The rate that one rank may reach, over that of an even share.
  double most() const { return even > 0 ? busiest / even : 1; }
};

/// Of the bytes between nodes of a call, out or in, whichever is more.
CardShares card_shares(const GroupCall& call, const moe::Groups& groups);

/// Of several calls at once: those of the call with the busiest rank.
CardShares card_shares(const std::vector<GroupCall>& calls, const moe::Groups& groups);

}  // namespace tuner
