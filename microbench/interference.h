#pragma once

#include <string>
#include <vector>

#include "microbench/activities.h"
#include "microbench/benchmarks.h"

namespace microbench {

/// Measures the speed of y while x runs on every rank, in (0, 1]: MPMoE's alpha(y, x) [MPMoE 4.2
/// and Fig. 3, printed]. It does so for every activity y (activities.h) and every other x, and
/// where there are several others also for "all" of them at once (without memory_bound, a second
/// kind of computation). A device computes on one stream: there computation and memory_bound do not
/// run beside each other.
///
/// y alone and y beside x are timed in turns, in several rounds. Calls of y that are shorter than 5
/// ms are repeated until they last so long. x runs on a thread and stream of its own, from before
/// y begins until after it ends. A sample is refused, and repeated with more calls of x, where some
/// x ran for less than kLeastOverlap of y on some rank. The results of both are verified, those of
/// y while x runs.
///
/// The op of a row is "interference", its parameters are {"activity": y, "beside": x, "alone_s":,
/// "overlap":}. The time of the row is that of y beside x, the median of the rounds. alone_s over
/// time_s is the speed, the median of the rounds' speeds. relative_deviation and cv of the row are
/// those of the rounds' slowdowns. overlap: the median of the least share of y during which x ran.
std::vector<Plan> interference_plans(const Bench& bench, const std::vector<std::string>& names,
                                     const ActivitySizes& sizes, const std::vector<int>& node);

inline constexpr double kLeastOverlap = 0.9;

/// The benchmark "interference", with the activities and their sizes as its options.
Benchmark interference_benchmark();

}  // namespace microbench
