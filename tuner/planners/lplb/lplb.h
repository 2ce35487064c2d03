#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/planners/placement/placed_loads.h"
#include "tuner/planners/situation/planner.h"

/// DeepSeek's linear-programming load balancer, LPLB [its public code, facts alone].
namespace tuner {

inline constexpr PlannerOption kReplicas{"replicas", 1, 64,
                                         "experts of every rank that another rank has too [2]"};

inline constexpr PlannerOption kFiveSteps{
    "released", 0, 1, "1: rows shared out by LPLB's five steps of an interior-point method [0]"};

/// [member][slot]: the member of whose experts the slot holds a replica.
using ReplicaOwners = std::vector<std::vector<int>>;

/// Slot i of a member belongs to the member i + 1 places before it, the last before the first.
/// `slots` are at most the other members.
ReplicaOwners ring_owners(int members, int slots);
/// Two slots for each member, which the edges of a cube join with its neighbours, in every eight
/// members. Empty unless `members` is a multiple of 8. [LPLB, code]
ReplicaOwners cube_owners(int members);

/// Slot i of a member holds the i-th of its owner's experts by load (equal loads: the first), so an
/// expert has one replica at most. Homes are those of the rows. Rows are shared out after the gate
/// (RowsOfOthers::balanced).
moe::ExpertPlacement lplb_placement(const GroupedRows& rows, const ReplicaOwners& owners);

/// One candidate for each way of joining ranks and each number of replicas up to the option. LPLB
/// chooses replicas for the time to come, by the loads of the past, and shares rows out in every
/// micro-batch. [ours] It is the exact optimum in whole rows, where LPLB takes five steps of an
/// interior-point method, as with kFiveSteps; replicas are sent in every iteration, and the
/// candidate is chosen by simulation.
std::vector<Candidate> lplb_candidates(const Situation& situation, const PlannerOptions& options);

}  // namespace tuner
