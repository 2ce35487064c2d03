#include "db/timeline/critical_path.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "db/timeline/cause.h"

namespace db {
namespace {

std::optional<SpanPosition> last_to_end(const Timeline& timeline) {
  std::optional<SpanPosition> last;
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    if (timeline.lanes[l].spans.empty()) continue;
    const SpanPosition at{l, timeline.lanes[l].spans.size() - 1};
    if (!last || span_at(timeline, at).end_s > span_at(timeline, *last).end_s) last = at;
  }
  return last;
}

}  // namespace

std::vector<PathStep> critical_path(const Timeline& timeline, const SpanIndex& index) {
  std::vector<PathStep> path;
  if (!knows_causes(timeline)) return path;
  double until_s = 0;  // what comes later on the path began then
  for (std::optional<SpanPosition> at = last_to_end(timeline); at;) {
    const SpanPosition last = begun_last(timeline, index, *at);
    if (path.empty()) until_s = span_at(timeline, *at).end_s;
    const double begin_s = span_at(timeline, last).start_s;
    const double end_s = std::min(until_s, std::max(span_at(timeline, *at).end_s, begin_s));
    if (!path.empty()) path.back().gap_s = until_s - end_s;
    path.push_back({last, std::max(end_s - begin_s, 0.0), 0});
    until_s = std::min(begin_s, end_s);
    at = released_by(timeline, index, last);
  }
  if (!path.empty()) path.back().gap_s = until_s - timeline.extent.begin_s;
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<PathPart> path_parts(const Timeline& timeline, const std::vector<PathStep>& path) {
  std::map<std::string, PathPart> parts;
  PathPart gaps;
  for (const PathStep& step : path) {
    const TimelineOp& op = op_at(timeline, step.at);
    PathPart& part = parts[op.kind];
    part.sample = op;
    ++part.steps;
    part.seconds += step.seconds;
    gaps.seconds += step.gap_s;
    if (step.gap_s > 0) ++gaps.steps;
  }
  std::vector<PathPart> sorted;
  for (auto& [kind, part] : parts) sorted.push_back(std::move(part));
  if (gaps.steps > 0) sorted.push_back(std::move(gaps));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PathPart& a, const PathPart& b) { return a.seconds > b.seconds; });
  return sorted;
}

std::string part_name(const PathPart& part) {
  std::string kind = part.sample.kind.empty() ? "gaps between steps" : part.sample.kind;
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return kind;
}

}  // namespace db
