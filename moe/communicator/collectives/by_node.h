#pragma once

#include <cstdint>

#include "moe/communicator/collectives/messages.h"

/// Collectives of groups with several members on a node. These members share a network card, so
/// each byte goes through it as seldom as possible; inside a node, messages go through memory. What
/// a call gives and how many bytes all ranks send together is as in collectives.h. With m nodes,
/// the card of a node sends less:
///
///   all-reduce   2 S (m-1)/m   instead of that times the members of a node
///   all-gather   its members' blocks once to each other node, instead of once to each rank there
///
/// Members of different nodes that have the same place in their nodes exchange data. Where nodes
/// have unlike numbers of members, only the places that all nodes have take part in this.
namespace moe {

/// 4 steps for each fragment of the array, one fragment after the other. Each place of a node has a
/// slice of the fragment. Its member (1) adds the slices of its node, (2) exchanges sums with the
/// members of that place on other nodes, each of which adds a share, (3) exchanges the shares, and
/// (4) passes its slice on inside its node. Between two nodes, each of the two members adds the
/// whole slice, which takes no more bytes and makes step 3 unnecessary.
void all_reduce_by_node(Group& group, const collective::AllReduce& c, const CallContext& call);

/// Below this many bytes from each rank, passing blocks on inside a node costs more than it saves.
inline constexpr std::int64_t kGatheredInOneRoundBytes = 16 * 1024;
/// Whether blocks of `bytes` are gathered by node.
inline bool gathers_by_node(const Group& group, std::int64_t bytes) {
  return group.nodes.share_cards() && bytes * (group.size() - 1) > kGatheredInOneRoundBytes;
}

/// The block of each rank goes to the members of its node, and to one member of each other node,
/// which passes it on inside that node piece by piece. This rank's own block is in its place
/// already.
void all_gather_by_node(Group& group, const collective::AllGather& c, const CallContext& call);

}  // namespace moe
