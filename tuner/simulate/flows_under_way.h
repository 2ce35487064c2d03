#pragma once

#include <functional>
#include <limits>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "moe/program/program.h"
#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/op_costs.h"
#include "tuner/simulate/channels.h"
#include "tuner/simulate/flow_rates.h"
#include "tuner/simulate/moving_call.h"
#include "tuner/simulate/shared_links.h"

namespace tuner {

/// All that moves between ranks at one time of a simulation, and when it will have arrived.
class FlowsUnderWay {
 public:
  /// Keeps references to all arguments.
  FlowsUnderWay(const moe::Program& program, const moe::Groups& groups,
                const std::vector<OpCost>& costs, const Cluster& cluster);
  FlowsUnderWay(const FlowsUnderWay&) = delete;  ///< as SharedLinks
  FlowsUnderWay& operator=(const FlowsUnderWay&) = delete;

  /// When the next flows, those that end together, have ended, or when a member goes on before;
  /// infinity where none moves, or until rates are shared anew.
  double next_end() const { return next_end_; }
  /// Whether flows began or ended since rates were shared.
  bool have_changed() const { return changed_; }
  /// A member sends the messages of a call that uses buffers (uses_buffers()) before begin().
  void send(double now, int op, int call, int rank);
  /// The bytes of a call begin to move, or those that have not moved yet. Returns the members that
  /// go on at once: they have none, or these have come, and little enough is still to leave.
  std::vector<CallMember> begin(double now, int op, int call);
  /// Ends the flows whose time has come. Returns the members that go on then.
  std::vector<CallMember> end(double now);
  /// Gives all flows max-min fair rates. `speed`: of a rank's communication beside its other work.
  void share_links(double now, const std::function<double(int rank, Occupation link)>& speed);
  /// How long what the cards of the group's nodes have been given to send still takes, without
  /// messages between ranks of the group on channels of `stream`: its own follow those anyway.
  double cards_busy_s(double now, const GroupCall& group, moe::Stream stream) const;

 private:
  /// Of a call that uses buffers.
  struct Exchange {
    std::vector<bool> there;  ///< [member]: its messages have begun; empty before the first
    bool all_there = false;
  };

  void settle(double now);
  void find_ends(double now);
  Flow flow_of(double now, int op, int call, const Transfer& part) const;
  void join(double now, int op, int call, int member);
  std::vector<CallMember> begin_exchange(double now, int op, int call);
  void note_end(int op, int call, int member, std::vector<CallMember>& ended);
  bool may_let_go(const Channel& channel) const;
  double bytes_at_next_stop(const Flow& flow) const;
  bool end_or_hold(Flow& flow, std::vector<CallMember>& ended);
  void let_go(Channel& channel, std::vector<CallMember>& ended);
  void let_senders_go(std::vector<CallMember>& ended);

  const moe::Program& program_;
  const moe::Groups& groups_;
  const std::vector<OpCost>& costs_;
  const Cluster& cluster_;
  const bool folded_;  ///< whether transfers stand for several (Transfer::out)
  std::vector<Flow> flows_;
  std::list<MovingCall> large_calls_;
  /// [op][call][member]; empty where the call has its bytes by rank
  std::vector<std::vector<std::vector<int>>> flows_left_;
  std::map<std::pair<int, int>, Exchange> exchanges_;  ///< [op, call]
  Channels channels_;
  SharedLinks links_;
  double since_ = 0;  ///< when bytes were settled
  double next_end_ = std::numeric_limits<double>::infinity();
  bool changed_ = false;
};

}  // namespace tuner
