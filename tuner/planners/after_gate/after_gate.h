#pragma once

#include "tuner/planners/situation/planner.h"

/// Planners that leave replicas to a rule after the gate (moe/rows/late_copies.h): the schedule
/// names the rule and its slots, and every routed layer gets the replicas that its own counts ask
/// for. Nothing is planned from the past, so nothing can be stale. Parameters are sent in every
/// micro-batch, between the gate and the experts. A rank has no more slots than there are experts
/// on other ranks, whatever was asked for.
namespace tuner {

inline constexpr PlannerOption kSlots{
    "slots", 1, 64,
    "replicas that a rank may hold [ultraep and feplb try 1 and 2; moonep: as many as it has "
    "experts; llep: as many, and at least 4]"};
inline constexpr PlannerOption kSharedSlots{
    "shared", 0, 1,
    "1: all layers have the same slots; parameters are sent again for backward [0]"};
inline constexpr PlannerOption kAlpha{"alpha", 1, 4, "rows of a rank over the mean, at most [1.1]",
                                      false};
inline constexpr PlannerOption kLeastRows{
    "rows", 1, 1e9, "rows that are worth sending an expert for [1024, 128 and 16 are tried]"};

/// UltraEP, with 1 and 2 slots, or as many as were asked for.
std::vector<Candidate> ultraep_candidates(const Situation& situation,
                                          const PlannerOptions& options);
/// UltraEP's rule among the ranks of each node, as FEPLB evens them; likewise. [ours] FEPLB's own
/// rule and its copies beside the experts that stay are not public; where no node has two ranks,
/// nothing moves.
std::vector<Candidate> feplb_candidates(const Situation& situation, const PlannerOptions& options);
/// MoonEP, with as many slots as a rank has experts, or as were asked for.
std::vector<Candidate> moonep_candidates(const Situation& situation, const PlannerOptions& options);
/// LLEP, with 1,024 rows as its authors have, and fewer, or those that were asked for. [ours] A
/// rank has slots for as many replicas as it has experts, at least 4: LLEP has no bound.
std::vector<Candidate> llep_candidates(const Situation& situation, const PlannerOptions& options);

/// What a planner has tried several of: {"slots": 2}, of llep {"rows": 16}; 0 slots where all experts
/// stay at home.
std::string after_gate_parameters(const moe::Schedule& schedule);

}  // namespace tuner
