#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "db/timeline/collective.h"
#include "db/timeline/span_index.h"

/// The ops of a timeline with their figures, by kind or one by one.
namespace db {

enum class OpGrouping {
  kind,  ///< all ops of a kind
  op     ///< an op of one layer and phase, with all its chunks
};

/// The figures of one kind or op over all ranks. Of spans that cross the border of the range, the
/// part inside counts.
struct OpRow {
  std::string name;
  TimelineOp sample;              ///< one of the ops, for colour and place
  std::vector<std::int32_t> ops;  ///< indices of Timeline::ops
  std::size_t count = 0;          ///< spans that have a part in the range
  double total_s = 0;
  double exposed_s = 0;
  double waiting_s = 0;
  double mean_s = 0;
  double median_s = 0;
  double p95_s = 0;  ///< 95% of the spans are not longer
  double max_s = 0;
};

/// The rows, longest total first.
std::vector<OpRow> op_table(const Timeline& timeline, const SpanIndex& index, TimeInterval range,
                            OpGrouping grouping);

/// The key by which rows of different timelines are matched.
std::string op_key(const TimelineOp& op, OpGrouping grouping);

/// Seconds that the ops of a range took in `other`, a timeline of the same schedule, by op_key: of
/// every span that has a part in `range`, that share of the duration of the same op and chunk on the
/// same rank there.
std::map<std::string, double> same_ops_s(const Timeline& timeline, const SpanIndex& index,
                                         TimeInterval range, const Timeline& other,
                                         const SpanIndex& other_index, OpGrouping grouping);

/// The durations of a row's spans inside the range, ascending.
std::vector<double> durations_of(const Timeline& timeline, const SpanIndex& index, const OpRow& row,
                                 TimeInterval range);

/// The spans of a row that have a part in the range. The longest exposed is first; where none is
/// exposed, the longest.
std::vector<SpanPosition> longest_first(const Timeline& timeline, const SpanIndex& index,
                                        const OpRow& row, TimeInterval range);

/// How many values lie in each of `bins` equal parts of [first, last] of an ascending list. One bin
/// where all are equal.
std::vector<std::size_t> histogram(const std::vector<double>& ascending, std::size_t bins);

/// The ops that hold every word of `text`, ignoring case, in name, kind, phase or stream. "layer 3"
/// and "chunk 2" name a layer and a chunk. No op for a text without a word.
std::vector<bool> matching_ops(const Timeline& timeline, const std::string& text);

/// The spans of those ops that have a part in the range, by start.
std::vector<SpanPosition> spans_of(const Timeline& timeline, const SpanIndex& index,
                                   const std::vector<bool>& ops, TimeInterval range);

}  // namespace db
