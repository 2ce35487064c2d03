#pragma once

#include <utility>
#include <vector>

namespace microbench {

/// The rounds of a tournament in which every player meets every other once, and at most one in a
/// round, by the circle method: players - 1 rounds or, where their number is odd, as many as
/// players, in each of which another one rests. The lower player of a pair comes first.
std::vector<std::vector<std::pair<int, int>>> tournament(int players);

}  // namespace microbench
