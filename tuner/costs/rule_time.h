#pragma once

#include <array>
#include <map>
#include <string_view>

#include "moe/program/op.h"
#include "moe/rows/expert_placement.h"
#include "moe/rows/groups.h"
#include "tuner/costs/cost_model.h"

namespace tuner {

/// The rules by which every rank works out, from the counts of a layer, who computes which rows:
/// those that choose replicas too, by LateRule, and those that share rows out among replicas, by
/// BalancedBy.
inline constexpr std::array<std::string_view, 5> kRules{"ultraep", "moonep", "llep", "balanced",
                                                        "interior_point"};

/// The rule of a layer; "" where there is nothing to work out.
std::string_view rule_of(const moe::ExpertPlacement& placement);

/// The rule that is worked out before an exchange of counts ends; "" for other ops. `placements`:
/// those of the op's Program (moe::placements).
std::string_view rule_at(const std::map<int, moe::ExpertPlacement>& placements, const moe::Op& op);

/// What a rule's time depends on: the bytes of the counts of all ranks of a copy of the experts, 4
/// for each of them and each expert.
double counted_bytes(int experts, const moe::Groups& groups);

/// The time in which a host works a rule out, before any routed row moves. It is that of the rule's
/// fit, [fit.ultraep] in a cluster's file, else a curve that planning_time measured on one core of
/// the machine this was written on (tuner/costs/README.md). 0 for "".
double rule_seconds(const CostModel& costs, std::string_view rule, double bytes);

}  // namespace tuner
