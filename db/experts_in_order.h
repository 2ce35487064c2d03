#pragma once

#include <algorithm>

namespace db {

/// The experts of a MoE layer spread in order over the members of an expert group: neighbours
/// together, and where the number of members does not divide theirs, one more on each of the first
/// members. Needs at least one expert for each member.
struct ExpertsInOrder {
  int experts = 1;
  int members = 1;

  /// The most experts that a member has: the first members have as many, the others one less or,
  /// where the experts divide, as many too.
  constexpr int most() const { return (experts + members - 1) / members; }
  constexpr bool divide() const { return experts % members == 0; }
  constexpr int first_of(int member) const {
    return member * (experts / members) + std::min(member, experts % members);
  }
  constexpr int held_by(int member) const { return first_of(member + 1) - first_of(member); }
  constexpr int home_of(int expert) const {
    const int with_most = experts % members * most();  // experts of the members that have one more
    return expert < with_most ? expert / most()
                              : experts % members + (expert - with_most) / (experts / members);
  }
};

}  // namespace db
