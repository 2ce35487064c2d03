#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/op_costs.h"
#include "tuner/simulate/flow.h"
#include "tuner/simulate/link_filling.h"
#include "tuner/simulate/moving_call.h"

namespace tuner {

/// Gives flows that are under way their rates, of transfers between two ranks (`pairs`) and of
/// large calls (moving_call.h) beside each other: max-min fair over the network cards, the links of
/// ranks inside nodes, and the bandwidth of each rank in each call, which is that of the collective
/// times `speed(rank, link)` (`link`: the one that the call keeps busy). A flow's rate could only
/// be raised by lowering that of one which has no more.
///
/// All rates rise together from zero. When a link is full at level x, transfers over it stay at x
/// and take so much of the other links that they cross: with capacity C left and n transfers that
/// still rise, the next link to fill is the one with the smallest C / n. Transfers of large calls
/// are counted and not listed. In a large call every rank s sends to every rank d, so that a transfer rises while neither a
/// link of s nor one of d is full, and its rate is the lower of the two levels:
///     rate(s, d) = min(y_s, y_d)
/// With F the sum of the levels y_d of ranks that have found theirs, and n the number of those that
/// still rise, a link of s alone is full at
///     x = (capacity - F) / n
/// and a card adds up F and n over the ranks of its node and over calls. F and n are kept for each
/// node and in total, since a rank's transfers to its own node take other links.
///
/// No transfer crosses links between nodes and links within one, so the links between nodes are
/// filled apart from those of each node. What decides the rates of such a part is remembered, and a
/// part in which nothing has changed keeps its rates. Nodes on which all is alike are filled once.
/// This gives the rates that the transfers would have one by one.
class SharedLinks {
 public:
  using Speed = std::function<double(int rank, Occupation link)>;

  /// Keeps references to all arguments.
  SharedLinks(const std::vector<OpCost>& costs, const moe::Groups& groups, const Cluster& cluster);
  /// filling_ refers to speeds_.
  SharedLinks(const SharedLinks&) = delete;
  SharedLinks& operator=(const SharedLinks&) = delete;

  /// Sets the rates of all flows. Nobody else changes rates.
  void share(std::list<MovingCall>& calls, std::span<Flow> pairs, const Speed& speed);

 private:
  /// What decides the rates of a part of the links: equal keys mean equal rates.
  using Key = std::vector<std::uint64_t>;
  /// A node of a call.
  struct NodeOfCall {
    MovingCall* call = nullptr;
    int number = 0;  ///< of the call, in calls_
    int n = 0;       ///< the node, of the call
  };
  /// A computer's node in all calls that move something there.
  struct Node {
    int node = 0;
    std::size_t first = 0, last = 0;            ///< in of_calls_
    std::size_t first_pair = 0, last_pair = 0;  ///< in pairs_; within nodes alone
    std::size_t key_first = 0, key_last = 0;    ///< between nodes: its piece of the key
    std::size_t like = 0;                       ///< place of the node that stands for it
  };

  void note_speeds(const std::list<MovingCall>& calls, std::span<const Flow> pairs,
                   const Speed& speed);
  void gather(std::list<MovingCall>& calls, std::span<Flow> pairs, MovingCall::Part part);
  void add_to_key(const Node& node, MovingCall::Part part);
  void add_to_key(const Flow& flow);
  void find_alike();
  void share_between_nodes();
  void share_within(const Node& node);
  void set_rates(const NodeOfCall& of, int place, MovingCall::Part part) const;
  void copy_within(const Node& from, const Node& to);

  const std::vector<OpCost>& costs_;
  const moe::Groups& groups_;
  LinkSpeeds speeds_;
  LinkFilling filling_;
  Key between_;              ///< of the rates between nodes
  std::vector<Key> within_;  ///< [node of the cluster]: of the rates within it
  // Of the part that is looked at:
  std::vector<const GroupCall*> noted_;  ///< calls whose ranks' speeds are known
  std::vector<MovingCall*> calls_;       ///< that move something
  std::vector<NodeOfCall> of_calls_;     ///< by node, then call
  std::vector<Flow*> pairs_;             ///< within nodes: by node
  std::vector<Node> nodes_;              ///< ascending
  std::vector<int> places_;              ///< [place in of_calls_]: place in filling_
  std::vector<bool> crossed_;            ///< [node of the cluster]: by a pair
  Key key_;
  std::unordered_map<std::uint64_t, std::size_t> with_key_;  ///< hash of a key: place in nodes_
};

}  // namespace tuner
