#include "viewer/model/level_of_detail.h"

#include <algorithm>
#include <cmath>

namespace viewer {

namespace {

constexpr std::size_t kSamples = 16;

// The longest op of evenly spaced blocks between two spans.
std::int32_t longest_of_blocks(const Lane& lane, std::size_t first, std::size_t count) {
  const std::size_t begin = first / kBlockSpans + 1, end = (first + count) / kBlockSpans;
  const std::size_t step = std::max<std::size_t>(1, (end - begin) / kSamples);
  std::size_t longest = begin;
  for (std::size_t i = begin; i < end; i += step) {
    if (lane.blocks[i].longest_s > lane.blocks[longest].longest_s) longest = i;
  }
  return lane.blocks[longest].longest_op;
}

std::int32_t representative_op(const Lane& lane, std::size_t first, std::size_t count) {
  if (!lane.blocks.empty() && count >= 4 * kBlockSpans) {
    return longest_of_blocks(lane, first, count);
  }
  const std::size_t step = std::max<std::size_t>(1, count / kSamples);
  std::size_t longest = first;
  for (std::size_t i = first; i < first + count; i += step) {
    if (lane.spans[i].duration_s() > lane.spans[longest].duration_s()) longest = i;
  }
  return lane.spans[longest].op;
}

Mark mark_of(const Lane& lane, std::size_t first, std::size_t count) {
  return {lane.spans[first].start_s,
          lane.spans[first + count - 1].end_s,
          first,
          count,
          lane.busy_before_s[first + count] - lane.busy_before_s[first],
          representative_op(lane, first, count)};
}

}  // namespace

std::vector<Mark> fold(const Lane& lane, TimeRange visible, double seconds_per_px) {
  std::vector<Mark> marks;
  const std::vector<LaneSpan>& spans = lane.spans;
  const double bucket_s = kFoldBelow_px * seconds_per_px;
  const auto bucket = [&](std::size_t i) { return std::floor(spans[i].start_s / bucket_s); };

  // A run is folded whole even if the view's border cuts through it, or marks would flicker while
  // panning.
  std::size_t i = first_ending_after(lane, visible.begin_s);
  if (i > 0 && i < spans.size()) i = std::min(i, first_starting_at(lane, bucket(i) * bucket_s));

  while (i < spans.size() && spans[i].start_s < visible.end_s) {
    if (spans[i].duration_s() >= bucket_s) {
      marks.push_back(mark_of(lane, i, 1));
      ++i;
      continue;
    }
    const double here = bucket(i);
    std::size_t next = first_starting_at(lane, (here + 1) * bucket_s, i + 1);
    // Spans do not overlap, so only the last one that starts in a bucket can be as wide as a
    // bucket.
    if (next - i > 1 && spans[next - 1].duration_s() >= bucket_s) --next;
    marks.push_back(mark_of(lane, i, next - i));
    i = next;
  }
  return marks;
}

}  // namespace viewer
