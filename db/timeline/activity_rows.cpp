#include "db/timeline/activity_rows.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "db/console/progress.h"
#include "db/load.h"
#include "db/number_range.h"
#include "db/statement.h"
#include "db/store.h"
#include "db/timeline/statistics.h"
#include "db/transaction.h"

namespace db {
namespace {

constexpr char kLackingTimelines[] =
    "FROM timeline WHERE NOT EXISTS (SELECT 1 FROM rank_activity WHERE timeline_id = timeline.id) "
    "AND EXISTS (SELECT 1 FROM span WHERE timeline_id = timeline.id)";

/// Seconds of an interval that no computation covers.
double exposed_in(TimeInterval interval, std::span<const TimeInterval> computing) {
  return std::max(0.0, interval.length_s() - covered_length_s(interval, computing));
}

TimeInterval interval_of(const Span& span) {
  return {span.start_s, span.start_s + span.duration_s};
}

void add_exposed(OpActivity& sum, std::span<const TimeInterval> computing, const Span& span,
                 bool between_stages) {
  const double waiting_s = std::clamp(span.waiting_s.value_or(0), 0.0, span.duration_s);
  *sum.exposed_s += exposed_in(interval_of(span), computing);
  *(between_stages ? sum.exposed_bubble_s : sum.exposed_waiting_s) +=
      exposed_in({span.start_s, span.start_s + waiting_s}, computing);
}

/// Sums over the spans of one rank after the other.
class RankSums {
 public:
  explicit RankSums(std::span<const TimelineOp> ops) {
    std::map<std::tuple<int, std::string_view, std::string_view, std::string_view>, std::size_t>
        groups;
    for (const TimelineOp& op : ops) {
      const auto group =
          groups.try_emplace({op.layer, op.phase, op.kind, op.activity}, groups.size());
      ops_[op.op] = {&op, counted_as(op), group.first->second};
    }
    groups_ = groups.size();
  }

  void add(std::span<const Span* const> spans, TimelineActivity& activity) const {
    ActivityIntervals intervals;
    double end_s = 0;
    for (const Span* span : spans) {
      const auto known = ops_.find(span->op);
      const CountedAs op = known == ops_.end() ? CountedAs{} : known->second.counted;
      add_span(intervals, op, interval_of(*span), span->waiting_s.value_or(0));
      end_s = std::max(end_s, span->start_s + span->duration_s);
    }
    add_ops(spans, merged(intervals.computation), activity);
    const Span& first = *spans.front();
    const RankStatistics all = rank_statistics(first.rank, std::move(intervals), {0, end_s});
    activity.ranks.push_back({first.timeline_id, all.rank, all.computation_s, all.communication_s,
                              all.copy_s, std::max(0.0, all.exposed_s), all.exposed_waiting_s,
                              all.exposed_bubble_s});
  }

 private:
  void add_ops(std::span<const Span* const> spans, std::span<const TimeInterval> computing,
               TimelineActivity& activity) const {
    std::vector<OpActivity> sums(groups_);
    for (const Span* span : spans) {
      const auto known = ops_.find(span->op);
      if (known == ops_.end()) continue;
      const auto& [op, counted, group] = known->second;
      const bool communicates = counted.activity == Activity::communication;
      OpActivity& sum = sums[group];
      if (sum.spans++ == 0) {
        sum.timeline_id = span->timeline_id, sum.rank = span->rank, sum.layer = op->layer;
        sum.phase = op->phase, sum.kind = op->kind, sum.activity = op->activity;
        sum.waiting_s = 0;
        if (communicates) sum.exposed_s = sum.exposed_waiting_s = sum.exposed_bubble_s = 0;
      }
      sum.busy_s += span->duration_s;
      sum.bytes += span->bytes;
      sum.flops += span->flops;
      if (sum.waiting_s && span->waiting_s) {
        *sum.waiting_s += *span->waiting_s;
      } else {
        sum.waiting_s.reset();
      }
      if (communicates) add_exposed(sum, computing, *span, counted.between_stages);
    }
    for (OpActivity& sum : sums) {
      if (sum.spans > 0) activity.ops.push_back(std::move(sum));
    }
  }

  /// An op, and which of the sums it belongs to.
  struct Grouped {
    const TimelineOp* op = nullptr;
    CountedAs counted;
    std::size_t group = 0;
  };
  std::unordered_map<int, Grouped> ops_;
  std::size_t groups_ = 0;
};

bool lacks_activity(const Connection& connection, std::int64_t timeline) {
  Statement statement(connection, std::string("SELECT 1 ") + kLackingTimelines + " AND id = ?");
  return statement.bind(timeline).step();
}

void add_activity(Connection& connection, std::int64_t timeline) {
  Transaction transaction(connection, "work out how ranks spent their time");
  // Another process may have done it while this one waited for the lock.
  if (!lacks_activity(connection, timeline)) return;
  const std::vector<TimelineOp> ops = load_timeline_ops(connection, timeline);
  for (const int rank : load_span_ranks(connection, timeline)) {
    std::vector<Span> spans;
    visit_spans(connection, timeline, rank, [&](const Span& span) {
      spans.push_back(span);
      return true;
    });
    const TimelineActivity activity = activity_of(ops, spans);
    insert(connection, activity.ranks);
    insert(connection, activity.ops);
  }
  transaction.commit();
}

}  // namespace

TimelineActivity activity_of(std::span<const TimelineOp> ops, std::span<const Span> spans) {
  std::map<int, std::vector<const Span*>> by_rank;
  for (const Span& span : spans) by_rank[span.rank].push_back(&span);
  const RankSums sums(ops);
  TimelineActivity activity;
  for (const auto& [rank, of_rank] : by_rank) sums.add(of_rank, activity);
  return activity;
}

void add_missing_activity(Connection& connection) {
  std::vector<std::int64_t> lacking;
  Statement statement(connection, std::string("SELECT id ") + kLackingTimelines);
  while (statement.step()) lacking.push_back(statement.value<std::int64_t>(0));
  if (lacking.empty()) return;
  constexpr const char* kTask = "working out how ranks spent their time";
  spdlog::info("{}: {} in {} timelines that were stored without it", connection.path(), kTask,
               lacking.size());
  Progress progress(fmt::format("{}: {}", connection.path(), kTask),
                    static_cast<double>(lacking.size()));
  for (std::size_t i = 0; i < lacking.size(); ++i) {
    progress.at(static_cast<double>(i));
    try {
      add_activity(connection, lacking[i]);
    } catch (const WrongValue& wrong) {  // `moe-db check` names all such values
      spdlog::warn("{}; timeline {} has no sums over its spans", wrong.what(), lacking[i]);
    }
  }
}

std::int64_t timelines_without_activity(const Connection& connection) {
  Statement statement(connection, std::string("SELECT count(*) ") + kLackingTimelines);
  statement.step();
  return statement.value<std::int64_t>(0);
}

}  // namespace db
