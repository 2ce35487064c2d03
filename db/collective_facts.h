#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace db {

/// A collective that is measured by itself.
struct CollectiveFacts {
  std::string_view name;            ///< the name in the result database: "all_to_all"
  double (*bus_factor)(int ranks);  ///< see bus_factor()
  /// Whether every rank sends to every other by itself. Else they are a ring or chains.
  bool is_of_pairs = true;
  /// Whether it is a ring in NCCL, which has one for each card of a node.
  bool is_ring_of_cards = false;
};

/// All of them. A new one is a row here.
std::span<const CollectiveFacts> measured_collectives();

/// Bus bandwidth over algorithm bandwidth, and bytes on the busiest link over S, whatever the
/// algorithm [nccl-tests, PERFORMANCE.md]:
///   all-reduce 2 (n-1)/n;  all-gather, reduce-scatter, all-to-all(-v) (n-1)/n;
///   broadcast and reduce 1.
/// Algorithm bandwidth is S / time. S = bytes of the whole array: what a rank holds after
/// all-gather, holds before reduce-scatter, sends in all-to-all; for all-to-all-v the bytes that
/// the busiest rank sends or receives. None where no collective has this name.
std::optional<double> bus_factor(std::string_view collective, int ranks);

/// The bytes that the busiest rank sends over the link that the time is of, over S: bus_factor() of
/// ranks of one node; of several nodes those to other nodes alone, where all ranks send to each other.
/// Nodes have ranks / nodes ranks. `all_cards`: rings are as NCCL's on nodes of several cards, one for
/// each rank of a node, so that each sends its share alone. None where no collective has this name.
std::optional<double> link_factor(std::string_view collective, int ranks, int nodes,
                                  bool all_cards = false);

}  // namespace db
