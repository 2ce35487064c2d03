#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/cluster.h"
#include "tuner/costs/op_costs.h"
#include "tuner/simulate/flow_rates.h"
#include "tuner/simulate/moving_call.h"

namespace tuner {

/// How fast each rank communicates beside its other work: 1 where nothing slows it.
class LinkSpeeds {
 public:
  double of(int rank, Occupation link) const { return speeds_[place(rank, link)]; }
  void set(int rank, Occupation link, double speed) {
    if (speeds_.size() <= place(rank, link)) speeds_.resize(place(rank, link) + 1, 1);
    speeds_[place(rank, link)] = speed;
  }

 private:
  static std::size_t place(int rank, Occupation link) {
    return static_cast<std::size_t>(rank) * kOccupations + static_cast<std::size_t>(link);
  }
  std::vector<double> speeds_;
};

/// Progressive filling (shared_links.h) of links that belong together: all between nodes, or those
/// within one node, or all of them, where relays take both. Its memory is kept from one filling to
/// the next.
///
/// clear(); then add_call() and add_node() for what moves in big calls, and add_pair() of transfers
/// between two ranks; then fill(), and the rates.
///
/// Of what a rank sends to other nodes in a large call, each uplink of a block, and each relay, has
/// the share that it has of the bytes of the whole call; when it is full, none of the rank's
/// transfers rises any more. On a mesh, the transfers of large calls within a node are pairs.
class LinkFilling {
 public:
  /// Keeps references to all arguments.
  LinkFilling(const std::vector<OpCost>& costs, const moe::Groups& groups, const Cluster& cluster,
              const LinkSpeeds& speeds)
      : costs_(costs), groups_(groups), cluster_(cluster), speeds_(speeds) {}

  void clear();
  /// Returns the call's number; further ones are added after it.
  int add_call(const MovingCall& call);
  /// A part of node `n` of the call with this number. Returns the node's place.
  int add_node(int number, int n, MovingCall::Part part);
  /// The node at this place stands for so many more.
  void add_copies(int place, double copies) { nodes_[place].copies += copies; }
  /// Returns the pair's place.
  int add_pair(const Flow& flow);

  void fill();
  /// Of the flow of the node's i-th member, which is under way.
  double rate(int place, int i) const;
  double pair_rate(int pair) const { return pairs_[pair].rate; }

 private:
  enum Way { kOut, kIn };
  static constexpr std::array kWays{kOut, kIn};
  static constexpr Way opposite(Way way) { return way == kOut ? kIn : kOut; }

  /// The side of a call's transfers that leaves a rank, or enters it.
  struct Side {
    double capacity = 0;  ///< of this rank in this call
    bool rises = false;
    double level = 0;  ///< at which it stopped to rise
    double rate = 0;   ///< of all its transfers together
  };
  using Sides = std::array<Side, 2>;  ///< [way]
  /// Of the sides of one way that are on one node, or in a whole call.
  struct Sums {
    double rising = 0;  ///< their number
    double levels = 0;  ///< the sum of the levels of those that rise no more
  };
  struct Call {
    const MovingCall* moving = nullptr;
    std::array<Sums, 2> all;  ///< [way]: between nodes
  };
  struct Node {
    int call = 0;
    int node = 0;  ///< of the call
    MovingCall::Part part = MovingCall::between_nodes;
    int first_side = 0, members = 0;  ///< in sides_
    int first_listed = -1;            ///< in listed_, of a mesh: [member] those that drive a flow
    double copies = 1;
    std::array<Sums, 2> sums{};     ///< [way]
    std::array<double, 2> rates{};  ///< [way]: between nodes, that rise no more
  };
  /// What shares a capacity: lists of places in members_ and crossings_, -1 where they end.
  struct SharedLink {
    double capacity = 0;
    int first_member = -1, last_member = -1;
    int first_crossing = -1, last_crossing = -1;
    double pairs_rising = 0, pairs_rate = 0;
  };
  struct Member {
    int node = 0;
    int side = -1;  ///< place in sides_; -1: all sides of the node
    Way way = kOut;
    double share = 1;  ///< of its rate that crosses the link
    int next = -1;
  };
  struct Pair {
    const Flow* flow = nullptr;
    int first_crossing = 0, crossings = 0;
    double rate = -1;
  };
  /// A pair over a link.
  struct Crossing {
    int pair = 0;
    int link = 0;
    double count = 0;  ///< how many such flows cross the link
    int next = -1;
  };
  struct Fill {
    double left = 0, rising = 0;
    double level() const;
  };

  Sums others(const Node& node, int side, Way way) const;
  Fill filled(const SharedLink& link) const;
  void stop_side(Node& node, int side, Way way, double level);
  void stop(const SharedLink& link, double level);
  int new_link(double capacity);
  int shared_link(std::size_t place, double capacity);
  int card_link(int rank, Way way);
  int rank_link(int rank, Way way);
  int uplink(std::size_t level, int rank, Way way);
  int link_to(int from, int to);
  void add_member(int link, const Member& member);
  void add_links_of(int place);
  void add_shares_of(int place, int i, Way way);
  void add_relays_of(int place, int i);
  void list_transfers(Node& node);
  double fitted(const OpCost& cost, MovingCall::Part part) const;
  int own_link(int op, int call, int member, MovingCall::Part part, Way way);
  void add_crossing(int pair, int link, double count);
  void add_links_of_pair(int pair);

  const std::vector<OpCost>& costs_;
  const moe::Groups& groups_;
  const Cluster& cluster_;
  const LinkSpeeds& speeds_;
  std::vector<Call> calls_;
  std::vector<Node> nodes_;
  std::vector<Sides> sides_;
  std::vector<Pair> pairs_;
  std::vector<SharedLink> links_;
  std::vector<Member> members_;
  std::vector<Crossing> crossings_;
  std::deque<Flow> flows_;                ///< the transfers of large calls that are pairs
  std::vector<std::vector<int>> listed_;  ///< pairs
  /// [place]: the link of a card, of a rank in its node or of a block, by way; -1 where there is
  /// none yet.
  std::vector<int> shared_;
  std::vector<std::size_t> shared_used_;
  std::map<std::pair<int, int>, int> of_pairs_;  ///< of a mesh, by ranks: their link
  struct OwnLinks {
    int op = 0, call = 0;
    int first = 0;  ///< in own_: [4 member + 2 part + way] the link of a member of the call, or -1
  };
  std::vector<OwnLinks> own_links_;
  std::vector<int> own_;
  std::vector<std::pair<double, int>> levels_;  ///< a heap: level and link
};

}  // namespace tuner
