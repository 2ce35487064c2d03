#include "tuner/simulate/moving_call.h"

#include <unordered_map>

namespace tuner {
namespace {

double bytes_of(const RankBytes& bytes, MovingCall::Part part, bool sent) {
  if (part == MovingCall::between_nodes) {
    return sent ? bytes.for_other_nodes() : bytes.in_between;
  }
  return sent ? bytes.out_within : bytes.in_within;
}

}  // namespace

MovingCall::MovingCall(int op, int call, double began, const GroupCall& group,
                       const moe::Groups& groups)
    : op(op), call(call), began(began), group(&group) {
  const std::size_t members = group.ranks.size();
  node_of.resize(members);
  flows.resize(members);
  other_side.resize(members);
  has_ended.resize(members);
  std::unordered_map<int, int> place;
  for (std::size_t i = 0; i < members; ++i) {
    const int node = groups.node_of[group.ranks[i]];
    const auto [found, is_new] = place.try_emplace(node, static_cast<int>(nodes.size()));
    if (is_new) nodes.push_back({node, copies_of(group, i), {}, {}});
    Node& of_member = nodes[found->second];
    of_member.members.push_back(static_cast<int>(i));
    node_of[i] = found->second;
    for (const Part part : kParts) {
      const double bytes = bytes_of(group.bytes[i], part, group.by_source);
      other_side[i][part] = bytes_of(group.bytes[i], part, !group.by_source) > 0;
      if (bytes <= 0) continue;
      flows[i][part].bytes_left = bytes;
      flows[i][part].under_way = true;
      ++of_member.under_way[part];
      if (part == between_nodes) between_under_way += of_member.copies;
    }
  }
}

std::vector<int> MovingCall::newly_ended() {
  std::vector<int> ended;
  for (const Node& node : nodes) {
    const bool others_move = between_under_way > node.under_way[between_nodes];
    for (const int member : node.members) {
      if (has_ended[member]) continue;
      const auto& own = flows[member];
      const bool moves = own[between_nodes].under_way || own[within_node].under_way ||
                         (others_move && other_side[member][between_nodes]) ||
                         (node.under_way[within_node] > 0 && other_side[member][within_node]);
      if (moves) continue;
      has_ended[member] = true;
      ++ended_;
      ended.push_back(member);
    }
  }
  return ended;
}

std::vector<int> MovingCall::end_flows(double now) {
  bool any = false;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    for (const Part part : kParts) {
      RankFlow& flow = flows[i][part];
      if (!flow.under_way || flow.end > now) continue;
      flow.under_way = false;
      any = true;
      Node& node = nodes[node_of[i]];
      --node.under_way[part];
      if (part == between_nodes) between_under_way -= node.copies;
    }
  }
  return any ? newly_ended() : std::vector<int>();
}

}  // namespace tuner
