#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tuner {

/// SmartMoE's placement by greed: experts by descending load, of equals the first, each to the least loaded member with
/// a free slot (as many for each member), of equals the first; taken where the largest load of a member falls by it.
/// [expert]: its member.                                                                         [SmartMoE, code]
/// It moves where experts belong, with the optimizer's state, which no decision of a Schedule does yet: so there is no
/// planner of this name.
/// Throws std::invalid_argument where `members` does not divide the experts.
std::vector<int> smartmoe_homes(std::span<const std::int64_t> loads, int members);

/// Experts in the order of their members: member = expert / (experts / members).
std::vector<int> homes_in_order(std::size_t experts, int members);

/// [member]: of the experts that are there.
std::vector<std::int64_t> loads_of_members(std::span<const std::int64_t> loads,
                                           std::span<const int> homes, int members);

}  // namespace tuner
