#pragma once

#include <vector>

#include "db/experts_in_order.h"
#include "moe/rows/expert_placement.h"

namespace moe {

/// The experts that each member of an expert group computes. A member has a row of slots: first D
/// for the experts that are at home there, then those for the replicas that it holds. Experts and
/// replicas ascend, and slots left over after either are empty. Every member has the same number of
/// slots, so that all carry out the same ops.
struct ExpertSlots {
  /// All experts and members. Wherever experts are at home, a member has as many as in order.
  db::ExpertsInOrder in_order{};
  int own = 1;            ///< D: slots of each member for experts at home: the most that any has
  int replica_slots = 0;  ///< slots for replicas on each member: the most that any member holds
  /// [member]: the experts of which it holds a replica. Empty where there are no replicas.
  std::vector<std::vector<int>> replicas_of{};
  /// [expert]: its ReplicatedExpert::holders. Empty where there are no replicas.
  std::vector<std::vector<int>> holders_of{};
  RowsOfOthers rows_of_others = RowsOfOthers::home;
  ExpertRoute route = ExpertRoute::unicast;
  ExpertHomes homes{};  ///< the same as ExpertPlacement::homes
  /// [member]: the experts at home there, ascending. Empty where the experts are in order.
  std::vector<std::vector<int>> owned{};
  /// [expert]: the copies of the experts before it. Only where rows are balanced, so that a source
  /// may send rows to every copy of an expert.
  std::vector<int> copies_before{};
};

/// Throws std::invalid_argument where there are fewer experts than members. Throws Refusal
/// - where homes does not name a member for every expert, or one has more or fewer than in order,
/// - where a replicated expert does not exist, stands twice or does not ascend,
/// - where its holders are none, not members, its home, or not ascending.
ExpertSlots expert_slots(const ExpertPlacement& placement, int experts, int members);

/// Slots of each member: its experts and the slots for replicas.
int slot_count(const ExpertSlots& slots);
/// The expert in a slot of a member; -1 where the slot is empty.
int expert_in(const ExpertSlots& slots, int member, int slot);
/// The slot in which a member has the expert or its replica. Throws std::logic_error where it has
/// neither.
int slot_of(const ExpertSlots& slots, int member, int expert);
int home_of(const ExpertSlots& slots, int expert);
/// The members that have the expert or a replica of it, ascending.
std::vector<int> copies_of(const ExpertSlots& slots, int expert);
/// The place of a member among them; -1 where it has neither.
int copy_at(const ExpertSlots& slots, int expert, int member);
/// Whether rows of member `source` for an expert may go to `member`: where rows are balanced to
/// every copy, else to the destination alone.
bool may_send(const ExpertSlots& slots, int source, int expert, int member);
/// The number of kinds of rows that every source has before those for this copy of the expert,
/// rows being ordered by expert, then copy.
int sent_before(const ExpertSlots& slots, int expert, int member);
/// The homes that an empty ExpertHomes stands for, written out.
ExpertHomes homes_in_order(int experts, int members);
/// The homes of one layer; empty where its experts are in order.
ExpertHomes homes_of(const HomesByLayer& homes, int layer);
/// The member that computes the rows of member `source` for an expert: `source` itself where it has
/// the expert or a replica, else as RowsOfOthers says. Not for replicated experts whose rows are
/// balanced: several members compute those.
int destination(const ExpertSlots& slots, int source, int expert);

}  // namespace moe
