#pragma once

#include <string>
#include <vector>

#include "microbench/activities.h"
#include "microbench/benchmarks.h"

namespace microbench {

/// How fast y runs while x runs beside it on every rank, in (0, 1]: MPMoE's alpha(y, x)
/// [MPMoE 4.2 and Fig. 3, printed], for every activity y (activities.h) beside every other x, and
/// beside "all" others at the same time where there are several (memory_bound, a second kind of
/// computation, is none of them).
///
/// y alone and y beside x are timed in turns. x keeps running, on a thread and stream of its own,
/// from before y begins until after it ends; a sample during which any x ran for less than
/// kLeastOverlap of y on any rank is refused and repeated with more calls of x. Both are verified:
/// y while x runs beside it.
///
/// A row's op is "interference", its parameters {"activity": y, "beside": x, "alone_s":, "overlap":}:
/// medians of a call of y alone and of the least share of y during which x ran. Its time is that
/// beside x, so speed = alone_s / time_s.
std::vector<Plan> interference_plans(const Bench& bench, const std::vector<std::string>& names,
                                     const ActivitySizes& sizes, const std::vector<int>& node);

inline constexpr double kLeastOverlap = 0.9;

/// "interference", with the activities and their sizes as its options.
Benchmark interference_benchmark();

}  // namespace microbench
