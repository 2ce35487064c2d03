#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/records.h"
#include "db/timeline/activity.h"
#include "db/timeline/intervals.h"
#include "db/timeline/statistics.h"

/// A timeline: what questions about the time of an iteration are asked of, whoever made it. The
/// spans of a lane are sorted and never overlap, so that a binary search finds those of a moment.
namespace db {

/// Clocks of different ranks and rounding make neighbours touch; less than this is not an overlap.
inline constexpr double kTouching_s = 1e-9;

/// One execution of `ops[op]` of its timeline.
struct LaneSpan {
  double start_s = 0;
  double end_s = 0;
  std::int32_t op = 0;
  double waiting_s = 0;  ///< of a communication, as the database says; 0 where it does not
  std::int64_t bytes = 0;
  double flops = 0;

  double duration_s() const { return end_s - start_s; }
  TimeInterval interval() const { return {start_s, end_s}; }
};
/// The duration of a span without its waiting: what its bytes took.
double transfer_s(const LaneSpan& span);

/// What a block of kBlockSpans spans of a lane tells without a look at each of them.
struct LaneBlock {
  double start_s = 0;  ///< of its first span
  float longest_s = 0;
  std::int32_t longest_op = 0;  ///< the op of its longest span
};
inline constexpr std::size_t kBlockSpans = 64;

/// The spans of one stream of one rank, sorted by start and free of overlap. A stream whose spans
/// overlap (imported traces) is spread over several lanes, `row` 0, 1, ...
struct Lane {
  int rank = 0;
  std::string stream;
  int row = 0;
  std::vector<LaneSpan> spans;
  std::vector<double> busy_before_s;   ///< busy_before_s[i] = sum of durations of spans [0, i); one
                                       ///< longer than spans
  std::vector<LaneBlock> blocks = {};  ///< of all spans, or none: they only save time
};

/// How one rank spent its time up to some moments, so that any range costs two look-ups and the
/// spans around its ends. The moments are those at which some blocks of its lanes
/// begin.
struct TimeLedger {
  int rank = 0;
  std::size_t first_lane = 0;  ///< lanes[first_lane, first_lane + lanes) are those of the rank
  std::size_t lanes = 0;
  std::vector<double> moments_s;      ///< ascending
  std::vector<RankStatistics> spent;  ///< from the first moment to each
  double flops = 0;                   ///< of all its spans
};

struct Timeline {
  TimelineInfo info;
  std::vector<TimelineOp> ops;
  std::vector<CountedAs> counted;  ///< what each op counts as
  std::vector<Lane> lanes;  ///< by rank, then stream (compute, inter_node, intra_node, copy, host,
                            ///< others), then row
  std::vector<TimeLedger> ledgers;  ///< one per rank, by rank
  /// [rank]: its place in `ledgers`, where one stands for several ranks with the same spans. Empty:
  /// each stands for its own.
  std::vector<int> like = {};
  TimeInterval extent;    ///< the iteration, from the timeline's begin over its duration; from the
                          ///< first start to the last end where spans lie elsewhere
  TimeInterval recorded;  ///< from the first start to the last end of the ranks that are there
  std::size_t spans = 0;
  /// Whether all ranks are there; while a timeline is loaded, its ranks come one after another.
  bool complete = true;
  /// [op]: the ops that must have ended on a rank before it may start there. Empty where the
  /// database does not say.
  std::vector<std::vector<std::int32_t>> waits_for;
  /// By kind of group and rank: the lowest rank of its group. Empty where the database does not
  /// say.
  std::map<std::string, std::map<int, int>> first_rank;
};

/// The lanes of the rank of a ledger.
std::span<const Lane> lanes_of(const Timeline& timeline, const TimeLedger& rank);
/// [rank, ascending]: its ledger, which may be that of a rank with the same spans.
std::vector<const TimeLedger*> ledgers_by_rank(const Timeline& timeline);

/// Names one span: lanes[lane].spans[span] of a timeline.
struct SpanPosition {
  std::size_t lane = 0;
  std::size_t span = 0;
  bool operator==(const SpanPosition&) const = default;
};

/// Sorts rows of the database into lanes. A span whose op has no row gets one named "op 17"; spans
/// of negative or non-finite time are left out.
Timeline build_timeline(TimelineInfo info, std::vector<TimelineOp> ops,
                        const std::vector<Span>& spans);

/// The lanes of one rank with all that is kept of them, to be appended to a timeline.
struct RankLanes {
  std::vector<Lane> lanes;
  TimeLedger ledger;
  TimeInterval extent;  ///< from the first start to the last end
  std::size_t spans = 0;
};

/// A timeline without spans, to append ranks to: ascending, each once. Its extent is that of the
/// iteration until finish_timeline.
Timeline begin_timeline(TimelineInfo info, std::vector<TimelineOp> ops);
/// Ops without a row, in the order of their places; those of a rank come before the rank.
void append_unnamed(Timeline& timeline, std::vector<TimelineOp> ops);
void append_rank(Timeline& timeline, RankLanes rank);
void finish_timeline(Timeline& timeline);

/// Says which ops wait for which, and which ranks communicate. Edges of ops that the timeline lacks
/// are left out.
void link_ops(Timeline& timeline, const std::vector<OpEdge>& edges,
              const std::vector<RankGroup>& groups);

/// Index of the first span that ends after `time_s`; spans.size() if none.
std::size_t first_ending_after(const Lane& lane, double time_s);

/// Index of the first span that starts at or after `time_s`; spans.size() if none.
std::size_t first_starting_at(const Lane& lane, double time_s);
/// The same among the spans from index `from` on.
std::size_t first_starting_at(const Lane& lane, double time_s, std::size_t from);

/// The span that covers `time_s`, or the nearest one that is no further than `tolerance_s` away.
std::optional<std::size_t> span_at(const Lane& lane, double time_s, double tolerance_s);

/// Stable order of streams: compute, inter_node, intra_node, copy, host, then any other.
int stream_order(const std::string& stream);

}  // namespace db
