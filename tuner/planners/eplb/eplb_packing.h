#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"

/// DeepSeek's expert-parallelism load balancer, EPLB [its public code, facts alone].
namespace tuner {

/// The number of copies of every expert: one for each, and `extra` more. Each further copy goes to
/// the expert with the largest load per copy (equal loads: the first), and no expert has more than
/// `most`. No other division has a smaller largest load per copy. [EPLB, code]
std::vector<int> copies_by_load(std::span<const std::int64_t> loads, int extra, int most);

struct EplbGroup {
  int members = 1;
  int spare_slots = 1;       ///< slots of a member beside those of its own experts
  std::vector<int> node_of;  ///< [member]: copies of an expert stay on the node of its home
                             ///< (hierarchical); empty: they go anywhere
  moe::ExpertHomes homes{};  ///< present homes; empty: in order
};

/// EPLB's placement for one layer. Numbers of copies are those of copies_by_load. Copies are packed
/// heaviest first (equal loads: the first), each on the least loaded member that has a free slot
/// and does not hold the expert. A copy that fits nowhere is left out. Rows of members without the
/// expert are spread over those that have it.
///
/// Here first copies stay at home with the optimizer's state, and only further copies are packed.
/// The load of a member starts with the rows that its own experts keep. Hierarchical: the experts
/// of a node are those of its members, and only they get the node's slots.
moe::ExpertPlacement eplb_placement(std::span<const std::int64_t> loads, const EplbGroup& group);

/// The same with first copies packed like the others, as EPLB does. Hierarchical: experts are
/// packed onto nodes by load first, as many onto each as now, then within each node. [EPLB, code]
/// EPLB, made for inference, has no homes and lets two copies of an expert lie on one member. Where
/// parameters are updated, one copy must be the first, and every member must have as many of these
/// as now: first_copies chooses them (ExpertPlacement::homes). [ours]
moe::ExpertPlacement eplb_moved_placement(std::span<const std::int64_t> loads,
                                          const EplbGroup& group);

}  // namespace tuner
