#pragma once

#include <vector>

#include "moe/rows/expert_placement.h"

namespace moe {

/// Which experts every member of an expert group computes, and for which other members. A member's slots are its own
/// D experts, ascending, then those that it computes beside them (its guests), ascending, then empty ones: as many slots on
/// every member, so that all carry out the same ops.
struct ExpertSlots {
  int own = 1;     ///< D: experts that belong to a member
  int guests = 0;  ///< slots beside them: the most guests that any member has
  std::vector<std::vector<int>> guests_of{};  ///< [member]: experts; empty where nobody has any
  std::vector<std::vector<int>>
      holders_of{};  ///< [expert]: as ReplicatedExpert::holders; empty likewise
  RowsOfOthers rows_of_others = RowsOfOthers::home;
  ExpertHomes homes{};  ///< as ExpertPlacement::homes
  std::vector<std::vector<int>>
      owned{};  ///< [member]: its own experts; empty where they are in order
};

/// Throws std::invalid_argument where the members do not divide the experts, homes are not of every expert, not there or
/// not as many experts' for each member, an expert is not there, stands twice or
/// does not ascend, or its holders are none, not there, twice, do not ascend, or are the member that it belongs to.
ExpertSlots expert_slots(const ExpertPlacement& placement, int experts, int members);

int slot_count(const ExpertSlots& slots);
/// The expert that a member computes there; -1 in an empty slot.
int expert_in(const ExpertSlots& slots, int member, int slot);
/// Where a member has the expert, which it computes.
int slot_of(const ExpertSlots& slots, int member, int expert);
int home_of(const ExpertSlots& slots, int expert);
/// The homes that an empty ExpertHomes stands for.
ExpertHomes homes_in_order(int experts, int members);
/// Of one layer; empty where its experts are in order.
ExpertHomes homes_of(const HomesByLayer& homes, int layer);
/// The member that computes the rows of `source` for an expert: `source` where it has it, else as RowsOfOthers says.
int destination(const ExpertSlots& slots, int source, int expert);

}  // namespace moe
