#pragma once

#include <array>
#include <limits>
#include <vector>

#include "moe/rows/groups.h"
#include "tuner/costs/op_costs.h"

namespace tuner {

/// A large collective under way, with a flow for each rank and link and not for each pair of ranks
/// (GroupCall::bytes).
///
/// Every rank sends to every other. What differs by rank is either what it receives (a dispatch) or
/// what it sends (a combine): that side has the flows, and the flow of a rank stands for one equal
/// transfer from (to) each other rank, all of which end together. The other side has links that
/// these transfers share.
struct MovingCall {
  enum Part { between_nodes, within_node };
  static constexpr std::array kParts{between_nodes, within_node};

  /// The bytes of one rank to or from all others of a part.
  struct RankFlow {
    double bytes_left = 0;
    double rate = 0;
    double end = std::numeric_limits<double>::infinity();  ///< time, at this rate
    bool under_way = false;
  };
  struct Node {
    int node = 0;
    int copies = 1;                  ///< nodes of the call that it stands for
    std::vector<int> members;        ///< ascending
    std::array<int, 2> under_way{};  ///< [part]: flows of one such node
  };

  int op = 0;
  int call = 0;
  double began = 0;  ///< time
  const GroupCall* group = nullptr;
  std::vector<Node> nodes;
  std::vector<int> node_of;                     ///< [member]: its place in `nodes`
  std::vector<std::array<RankFlow, 2>> flows;   ///< [member][part]
  std::vector<std::array<bool, 2>> other_side;  ///< [member][part]: whether it takes part there
  std::vector<bool> has_ended;                  ///< [member]
  long between_under_way = 0;                   ///< flows between nodes of all ranks

  MovingCall(int op, int call, double began, const GroupCall& group, const moe::Groups& groups);

  /// Ends the flows whose time has come. Returns the members that this ends the call for.
  std::vector<int> end_flows(double now);
  /// The members for which nothing leaves or enters any more, of those that had not ended.
  std::vector<int> newly_ended();
  /// Calls visit(Part, RankFlow&) for each rank's flow under way.
  template <class Visit>
  void each_under_way(const Visit& visit) {
    each_under_way(flows, visit);
  }
  template <class Visit>
  void each_under_way(const Visit& visit) const {
    each_under_way(flows, visit);
  }
  bool is_over() const { return ended_ == flows.size(); }

 private:
  template <class Flows, class Visit>
  static void each_under_way(Flows& all, const Visit& visit) {
    for (auto& parts : all) {
      for (const Part part : kParts) {
        if (parts[part].under_way) visit(part, parts[part]);
      }
    }
  }

  std::size_t ended_ = 0;  ///< members
};

}  // namespace tuner
