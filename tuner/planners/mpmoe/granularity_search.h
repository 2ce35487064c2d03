#pragma once

#include <functional>

namespace tuner::mpmoe {

/// Seconds with n partitions, measured or predicted.
using Profile = std::function<double(int n)>;

/// MPMoE's search for the best number of partitions of a batch, lowest <= n <= highest. They are
/// timed one after the other until one is slower than the one before it, as time over n is like a
/// parabola. Equal times: the least n. A single one is not timed. [MPMoE Alg. 1, searchBestGran in
/// words; of one batch, as training has: the listing keeps ranges of n from batch to batch]
int until_it_rises(int lowest, int highest, const Profile& profile);

/// The authors' way through lowest <= n <= highest: both ends are timed, and from the better one it
/// goes on until nothing improves. Equal times: the lowest end. [MPMoE, its authors' code]
int from_the_better_end(int lowest, int highest, const Profile& profile);

}  // namespace tuner::mpmoe
