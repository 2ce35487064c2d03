#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "moe/rows/expert_placement.h"

/// DeepSeek's expert-parallelism load balancer, EPLB [its public code, facts alone].
namespace tuner {

/// Copies of every expert, `extra` more than one each in all: each extra one to the expert whose
/// load per copy is largest, of equals the first, none with more than `most` copies. [EPLB, code]
/// No other division has a smaller largest load per copy.
std::vector<int> copies_by_load(std::span<const std::int64_t> loads, int extra, int most);

struct EplbGroup {
  int members = 1;
  int spare_slots = 1;        ///< experts that a member can have beside its own
  std::vector<int> node_of;   ///< [member]; used where hierarchical
  bool hierarchical = false;  ///< copies of an expert on the node of its home alone
  moe::ExpertHomes homes{};   ///< where experts are now; empty: in order
};

/// EPLB's placement for one layer: copies_by_load, then packed, heaviest per copy first, of equals
/// the first, each on the least loaded member that has a free slot and not the expert; a copy that
/// fits nowhere is left out. Rows of members without the expert are spread over those that have it.
///
/// Here first copies stay at home, with the optimizer's state, and what is packed are the others;
/// the load of a member starts as what its own experts have left. Hierarchical: a node's experts
/// are those of its members, and each node's slots are for these alone.
moe::ExpertPlacement eplb_placement(std::span<const std::int64_t> loads, const EplbGroup& group);

/// The same with first copies packed like the others, as EPLB does. Hierarchical: experts are
/// packed onto nodes by load first, as many onto each, then within each node. [EPLB, code] EPLB,
/// made for inference, knows no home, and lets two copies of an expert lie on one member. Where
/// parameters are updated one copy must be the first, and every member have as many of these:
/// first_copies chooses them (ExpertPlacement::homes). [ours]
moe::ExpertPlacement eplb_moved_placement(std::span<const std::int64_t> loads,
                                          const EplbGroup& group);

}  // namespace tuner
