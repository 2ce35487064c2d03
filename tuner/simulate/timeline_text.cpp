#include "tuner/simulate/timeline_text.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "db/timeline_statistics.h"

namespace tuner {

std::string timeline_text(const moe::Program& program, const moe::Timeline& timeline) {
  std::string text;
  for (int rank = 0; rank < moe::rank_count(timeline); ++rank) {
    for (int stream = 0; stream < moe::kStreamCount; ++stream) {
      std::vector<moe::OpSpan> spans;
      for (const moe::OpSpan& span : moe::spans_of(timeline, rank)) {
        if (static_cast<int>(program.ops[span.op].stream) == stream) {
          spans.push_back(span);
        }
      }
      if (spans.empty()) continue;
      text += fmt::format("rank {} {}\n", rank, moe::stream_name(static_cast<moe::Stream>(stream)));
      for (const moe::OpSpan& span : spans) {
        const moe::Op& op = program.ops[span.op];
        text += fmt::format("{:12.3f} {:11.3f}  {}", 1e3 * span.start_s,
                            1e3 * (span.start_s + span.duration_s), op.name);
        if (op.layer >= 0) text += fmt::format(", layer {}", op.layer);
        if (const moe::Slice share = moe::share_of(op); share.count > 1) {
          text += fmt::format(", {}/{}", share.index + 1, share.count);
        }
        text += '\n';
      }
    }
  }
  return text;
}

namespace {

std::vector<db::TimeInterval>& of(db::ActivityIntervals& intervals, moe::Activity activity) {
  switch (activity) {
    case moe::Activity::computation:
      return intervals.computation;
    case moe::Activity::communication:
      return intervals.communication;
    case moe::Activity::copy:
      return intervals.copy;
  }
  throw std::logic_error("summarize: no such activity");
}

}  // namespace

TimelineSummary summarize(const moe::Program& program, const moe::Timeline& timeline) {
  std::vector<moe::Activity> activities;
  for (const moe::Op& op : program.ops) activities.push_back(moe::facts_of(op).activity);
  std::vector<db::RankStatistics> lists;
  for (const auto& spans : timeline.ranks) {
    db::ActivityIntervals intervals;
    for (const moe::OpSpan& span : spans) {
      of(intervals, activities[span.op]).push_back({span.start_s, span.start_s + span.duration_s});
    }
    lists.push_back(db::rank_statistics(static_cast<int>(lists.size()), std::move(intervals),
                                        {0, timeline.duration_s}));
  }
  std::vector<db::RankStatistics> ranks;
  for (const int list : timeline.like) ranks.push_back(lists[list]);
  const db::RankStatistics mean = db::mean(timeline.like.empty() ? lists : ranks);
  return {timeline.duration_s, mean.computation_s, mean.communication_s, mean.covered_s(),
          mean.exposed_s};
}

}  // namespace tuner
