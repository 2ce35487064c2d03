#pragma once

#include <functional>
#include <limits>
#include <list>
#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/op_costs.h"
#include "tuner/simulate/flow_rates.h"
#include "tuner/simulate/moving_call.h"
#include "tuner/simulate/shared_links.h"

namespace tuner {

/// A member of a call for which nothing leaves or enters any more.
struct EndedMember {
  int op = 0;
  int call = 0;  ///< index into OpCost::calls
  int member = 0;
};

/// All that moves between ranks at one time of a simulation, and when it will have arrived.
class FlowsUnderWay {
 public:
  /// Keeps references to all arguments.
  FlowsUnderWay(const moe::Groups& groups, const std::vector<OpCost>& costs,
                const Cluster& cluster);
  FlowsUnderWay(const FlowsUnderWay&) = delete;  ///< as SharedLinks
  FlowsUnderWay& operator=(const FlowsUnderWay&) = delete;

  /// When the next flows, those that end together, have ended; infinity where none moves, or until
  /// rates are shared anew.
  double next_end() const { return next_end_; }
  /// Whether flows began or ended since rates were shared.
  bool have_changed() const { return changed_; }
  /// The bytes of a call begin to move. Returns the members that have none.
  std::vector<EndedMember> begin(double now, int op, int call);
  /// Ends the flows whose time has come. Returns the members that this ends a call for.
  std::vector<EndedMember> end(double now);
  /// Gives all flows max-min fair rates. `speed`: of a rank's communication beside its other work.
  void share_links(double now, const std::function<double(int rank, Occupation link)>& speed);
  /// How long what the cards of the group's nodes have been given to send still takes.
  double cards_busy_s(double now, const GroupCall& group) const;

 private:
  void settle(double now);
  void find_ends(double now);

  const moe::Groups& groups_;
  const std::vector<OpCost>& costs_;
  const Cluster& cluster_;
  const bool folded_;  ///< whether transfers stand for several (Transfer::out)
  std::vector<Flow> flows_;
  std::list<MovingCall> large_calls_;
  /// [op][call][member]; empty where the call has its bytes by rank
  std::vector<std::vector<std::vector<int>>> flows_left_;
  SharedLinks links_;
  double since_ = 0;  ///< when bytes were settled
  double next_end_ = std::numeric_limits<double>::infinity();
  bool changed_ = false;
};

}  // namespace tuner
