#include "db/timeline/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "db/timeline/activity.h"
#include "db/timeline/op_table.h"

namespace db {

namespace {

constexpr const char* kIdle = "idle";

std::string kind_part(const TimelineOp& op) {
  std::string kind = op.kind.empty() ? "no kind" : op.kind;
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return activity_of(op) == Activity::communication ? kind + ", exposed" : kind;
}

// The spans of a rank whose ops are of an activity, by start.
std::vector<LaneSpan> spans_of(const Timeline& timeline, const TimeLedger& rank,
                               Activity activity) {
  std::vector<LaneSpan> spans;
  for (const Lane& lane : lanes_of(timeline, rank)) {
    std::copy_if(lane.spans.begin(), lane.spans.end(), std::back_inserter(spans),
                 [&](const LaneSpan& span) {
                   return timeline.counted[static_cast<std::size_t>(span.op)].activity == activity;
                 });
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const LaneSpan& a, const LaneSpan& b) { return a.start_s < b.start_s; });
  return spans;
}

using Parts = std::map<std::string, TimePart>;

// Adds the time of a rank that no activity before had, and returns what is taken now.
std::vector<TimeInterval> add_activity(const Timeline& timeline, const TimeLedger& rank,
                                       Activity activity, std::vector<TimeInterval> taken,
                                       Parts& parts) {
  double done_s = timeline.extent.begin_s;
  std::vector<TimeInterval> more = taken;
  for (const LaneSpan& span : spans_of(timeline, rank, activity)) {
    TimeInterval own = common(span.interval(), timeline.extent);
    own.begin_s = std::min(std::max(own.begin_s, done_s), own.end_s);
    done_s = std::max(done_s, own.end_s);
    const double seconds = own.length_s() - covered_length_s(own, taken);
    const TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
    TimePart& part = parts[kind_part(op)];
    part.name = kind_part(op);
    part.sample = op;
    part.seconds += seconds;
    more.push_back(own);
  }
  return merged(std::move(more));
}

struct Sum {
  double seconds = 0;
  std::optional<SpanPosition> first;
  const TimelineOp* op = nullptr;
};

// By op, summed over chunks and the mean over ranks.
std::map<std::string, Sum> sums_of(const Timeline& timeline) {
  const auto ranks = static_cast<double>(timeline.ledgers.size());
  std::vector<Sum*> of_op;
  std::map<std::string, Sum> sums;
  for (const TimelineOp& op : timeline.ops) {
    Sum& sum = sums[op_key(op, OpGrouping::op)];
    if (sum.op == nullptr) sum.op = &op;
    of_op.push_back(&sum);
  }
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    const Lane& lane = timeline.lanes[l];
    for (std::size_t s = 0; s < lane.spans.size(); ++s) {
      Sum& sum = *of_op[static_cast<std::size_t>(lane.spans[s].op)];
      sum.seconds += lane.spans[s].duration_s() / ranks;
      const SpanPosition at{l, s};
      const auto key = [&](SpanPosition of) {
        return std::pair(rank_at(timeline, of), span_at(timeline, of).start_s);
      };
      if (!sum.first || key(at) < key(*sum.first)) sum.first = at;
    }
  }
  return sums;
}

// Whether another stream of the rank ran anything meanwhile.
bool is_alone(const Timeline& timeline, const TimeLedger& rank, const Lane& own,
              const LaneSpan& span) {
  for (const Lane& lane : lanes_of(timeline, rank)) {
    const std::size_t next = first_ending_after(lane, span.start_s + kTouching_s);
    if (&lane != &own && next < lane.spans.size() &&
        lane.spans[next].start_s < span.end_s - kTouching_s) {
      return false;
    }
  }
  return true;
}

struct Work {
  double seconds = 0, flops = 0;
};

// Computation with nothing beside it, by kind.
std::map<std::string, Work> work_alone(const Timeline& timeline) {
  std::map<std::string, Work> works;
  for (const TimeLedger& rank : timeline.ledgers) {
    for (const Lane& lane : lanes_of(timeline, rank)) {
      for (const LaneSpan& span : lane.spans) {
        const auto op = static_cast<std::size_t>(span.op);
        if (timeline.counted[op].activity != Activity::computation || !(span.flops > 0)) {
          continue;
        }
        if (!is_alone(timeline, rank, lane, span)) continue;
        Work& work = works[timeline.ops[op].kind];
        work.seconds += span.duration_s();
        work.flops += span.flops;
      }
    }
  }
  return works;
}

std::optional<double> compute_ratio(const Timeline& first, const Timeline& second) {
  const std::map<std::string, Work> others = work_alone(first);
  double first_s = 0, second_s = 0;
  for (const auto& [kind, work] : work_alone(second)) {
    const auto other = others.find(kind);
    if (other == others.end()) continue;
    first_s += other->second.seconds / other->second.flops * work.flops;
    second_s += work.seconds;
  }
  if (!(first_s > 0) || !(second_s > 0)) return std::nullopt;
  return first_s / second_s;
}

template <class Difference>
void sort_by_size(std::vector<Difference>& differences) {
  std::stable_sort(differences.begin(), differences.end(),
                   [](const Difference& a, const Difference& b) {
                     return std::abs(a.difference_s()) > std::abs(b.difference_s());
                   });
}

std::vector<PartDifference> part_differences(const Timeline& first, const Timeline& second) {
  std::map<std::string, PartDifference> parts;
  for (const TimePart& part : time_parts(first)) {
    parts[part.name] = {part.name, part.sample, part.seconds, 0};
  }
  for (const TimePart& part : time_parts(second)) {
    PartDifference& both = parts[part.name];
    both.name = part.name;
    both.sample = part.sample;
    both.second_s = part.seconds;
  }
  std::vector<PartDifference> sorted;
  for (auto& [name, part] : parts) sorted.push_back(std::move(part));
  sort_by_size(sorted);
  return sorted;
}

}  // namespace

std::vector<TimePart> time_parts(const Timeline& timeline) {
  constexpr std::array kOrder = {Activity::computation, Activity::communication, Activity::copy,
                                 Activity::host, Activity::unknown};
  Parts parts;
  double idle_s = 0;
  for (const TimeLedger& rank : timeline.ledgers) {
    std::vector<TimeInterval> taken;
    for (const Activity activity : kOrder) {
      taken = add_activity(timeline, rank, activity, std::move(taken), parts);
    }
    idle_s += timeline.extent.length_s() - total_length_s(taken);
  }
  std::vector<TimePart> all;
  for (auto& [name, part] : parts) all.push_back(std::move(part));
  all.push_back({kIdle, {}, idle_s});
  for (TimePart& part : all)
    part.seconds /= std::max(1.0, static_cast<double>(timeline.ledgers.size()));
  return all;
}

Differences differences(const Timeline& first, const Timeline& second) {
  Differences found;
  found.first_s = first.extent.length_s();
  found.total_s = second.extent.length_s() - first.extent.length_s();
  found.parts = part_differences(first, second);
  found.compute_ratio = compute_ratio(first, second);
  std::map<std::string, Sum> sums = sums_of(first);
  std::map<std::string, OpDifference> ops;
  for (const auto& [key, sum] : sums) {
    if (sum.first) ops[key] = {*sum.op, sum.seconds, 0, sum.first, std::nullopt};
  }
  for (const auto& [key, sum] : sums_of(second)) {
    if (!sum.first) continue;
    OpDifference& op = ops[key];
    op.op = *sum.op;
    op.second_s = sum.seconds;
    op.in_second = sum.first;
  }
  for (auto& [key, op] : ops) found.ops.push_back(std::move(op));
  sort_by_size(found.ops);
  return found;
}

std::string pace_text(const Differences& found) {
  constexpr double kSamePace = 1.1;
  const double ratio = found.compute_ratio.value_or(1);
  if (std::max(ratio, 1 / ratio) <= kSamePace) return "";
  return fmt::format(
      "The {} computed {:.2f} times as slowly for each FLOP: not all of the difference is of the "
      "schedules.",
      ratio > 1 ? "first" : "second", std::max(ratio, 1 / ratio));
}

}  // namespace db
