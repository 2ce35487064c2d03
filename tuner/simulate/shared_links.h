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
#include "tuner/simulate/flow_rates.h"
#include "tuner/simulate/link_filling.h"
#include "tuner/simulate/moving_call.h"

namespace tuner {

/// Gives flows that are under way their rates: max-min fair over the links of flow_rates.h, for
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
/// node and in total, since a rank's transfers to its own node take other links.
///
/// Without relays no transfer crosses links between nodes and links within one, so the links between
/// nodes are filled apart from those of each node. What decides the rates of such a part is remembered, and a
/// part in which nothing has changed keeps its rates. Nodes on which all is alike are filled once.
/// This gives the rates that the transfers would have one by one, but for uplinks and relays
/// (link_filling.h).
class SharedLinks {
 public:
  using Speed = std::function<double(int rank, Occupation link)>;

  /// Keeps references to all arguments.
  SharedLinks(const std::vector<OpCost>& costs, const moe::Groups& groups, const Cluster& cluster);
  /// filling_ refers to speeds_.
  SharedLinks(const SharedLinks&) = delete;
  SharedLinks& operator=(const SharedLinks&) = delete;

  /// Sets the rates of all flows. Expects that nobody changed rates since the last call, else
  /// forget().
  void share(std::list<MovingCall>& calls, std::span<Flow> pairs, const Speed& speed);
  /// Someone else has set rates.
  void forget();

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
  void share_all(std::list<MovingCall>& calls, std::span<Flow> pairs);
  void add_pairs(std::size_t first, std::size_t last);
  void set_pair_rates(std::size_t first);
  void set_rates(const NodeOfCall& of, int place, MovingCall::Part part) const;
  void copy_within(const Node& from, const Node& to);

  const std::vector<OpCost>& costs_;
  const moe::Groups& groups_;
  const bool has_relays_;
  LinkSpeeds speeds_;
  LinkFilling filling_;
  Key between_;              ///< of the rates between nodes
  std::vector<Key> within_;  ///< [node of the cluster]: of the rates within it
  // Of the part that is looked at:
  std::vector<MovingCall*> calls_;    ///< that move something
  std::vector<NodeOfCall> of_calls_;  ///< by node, then call
  std::vector<Flow*> pairs_;          ///< within nodes: by node
  std::vector<int> pair_places_;      ///< in filling_, of those that are there
  std::vector<Node> nodes_;           ///< ascending
  std::vector<int> places_;           ///< [place in of_calls_]: place in filling_
  std::vector<bool> crossed_;         ///< [node of the cluster]: by a pair
  Key key_;
  std::unordered_map<std::uint64_t, std::size_t> with_key_;  ///< hash of a key: place in nodes_
};

}  // namespace tuner
