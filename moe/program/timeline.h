#pragma once

#include <cstdint>
#include <vector>

namespace moe {

/// One execution of one op of the Program on one rank. Times are seconds since the beginning of the
/// iteration, on rank 0's clock.
struct OpSpan {
  int op = 0;
  double start_s = 0;
  double duration_s = 0;
};

/// One measured or predicted iteration, as it is made. What is asked of it is asked of the
/// db::Timeline that asked_timeline() makes (timeline_rows.h).
struct Timeline {
  std::vector<std::vector<OpSpan>> ranks;  ///< [rank]: spans, ordered by op
  double duration_s = 0;  ///< from the beginning to the end of the last span of any rank
  /// [rank]: its place in `ranks`, where several ranks have the same spans. Empty: its own.
  std::vector<int> like = {};
};

inline int rank_count(const Timeline& timeline) {
  return static_cast<int>((timeline.like.empty() ? timeline.ranks.size() : timeline.like.size()));
}
/// The place of a rank's spans in `ranks`.
inline int place_of(const Timeline& timeline, int rank) {
  return timeline.like.empty() ? rank : timeline.like[rank];
}
/// The spans of a rank, ordered by op.
inline const std::vector<OpSpan>& spans_of(const Timeline& timeline, int rank) {
  return timeline.ranks[place_of(timeline, rank)];
}

/// The first iterations of a training touch memory for the first time, and their memory use is
/// measured. No figure is made from their durations.
inline constexpr int kWarmupIterations = 2;

}  // namespace moe
