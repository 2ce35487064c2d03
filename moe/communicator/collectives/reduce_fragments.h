#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "moe/communicator/collectives/messages.h"
#include "moe/communicator/sum.h"
#include "moe/rows/tensor.h"

namespace moe {

/// Fragments posted at a time. With two, a rank often waits for the peer that is late just then: a
/// reduce-scatter of 64 MiB on 4 nodes of 2 Gbit/s took 225 ms instead of 208.
inline constexpr int kReduceFragmentsUnderWay = 4;

/// Elements that a rank adds at a time. They are enough for the wire, and so few that a rank adds
/// one fragment while the next is under way, and that scratch stays below 4 x 4 MiB.
constexpr std::int64_t reduce_fragment_count(int ranks, DType dtype) {
  constexpr std::int64_t largest_fragment_bytes = std::int64_t{512} << 10;
  constexpr std::int64_t scratch_bytes = std::int64_t{4} << 20;
  const std::int64_t bytes =
      std::min(largest_fragment_bytes, std::max<std::int64_t>(scratch_bytes / ranks, 4096));
  return bytes / bytes_of(dtype);
}

/// Memory for what one reduction receives. A group carries out one call at a time.
inline std::byte* reduce_scratch(Group& group, std::int64_t bytes) {
  if (static_cast<std::int64_t>(group.scratch.size()) < bytes) group.scratch.resize(bytes);
  return group.scratch.data();
}

/// sum[count] = the parts of all members: those of a node are added in rank order, then the sums of
/// the nodes, in the order of their first members. Every reduction of a group adds in this order,
/// so all of them have the same bits, whatever the ranks exchange to get there.
inline void sum_parts(const Group& group, std::span<const void* const> parts, void* sum,
                      std::int64_t count, DType dtype) {
  if (!group.nodes.share_cards()) return sum_in_order(parts, sum, count, dtype);
  std::vector<std::vector<const void*>> by_node;
  for (const std::vector<int>& members : group.nodes.members) {
    auto& of_node = by_node.emplace_back();
    for (const int member : members) of_node.push_back(parts[member]);
  }
  sum_of_sums(by_node, sum, count, dtype);
}

/// An array that several ranks add up together: cut into fragments, and each fragment into a share
/// for each adding rank.
struct SharedSum {
  std::int64_t count = 0;  ///< elements of the array
  int adders = 1;
  std::int64_t fragment = 1;  ///< elements of each fragment but the last

  struct Share {
    std::int64_t begin = 0, count = 0;
  };

  SharedSum(std::int64_t count, int adders, int ranks, DType dtype)
      : count(count),
        adders(adders),
        fragment(std::min(count, adders * reduce_fragment_count(ranks, dtype))) {}

  std::int64_t fragments() const { return (count + fragment - 1) / fragment; }
  std::int64_t largest_share() const { return (fragment + adders - 1) / adders; }
  std::int64_t under_way() const {
    return std::min<std::int64_t>(fragments(), kReduceFragmentsUnderWay);
  }
  /// The elements of fragment f that the adder with this index adds.
  Share share(std::int64_t f, int adder) const {
    const std::int64_t in_fragment = std::min(fragment, count - f * fragment);
    const std::int64_t begin = slice_begin(in_fragment, {adder, adders});
    return {f * fragment + begin, slice_end(in_fragment, {adder, adders}) - begin};
  }
};

}  // namespace moe
