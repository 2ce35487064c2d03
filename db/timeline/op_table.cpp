#include "db/timeline/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <utility>

#include "db/console/statistics.h"
#include "db/timeline/activity.h"

namespace db {

namespace {

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string row_name(const TimelineOp& op, OpGrouping grouping) {
  std::string kind = op.kind.empty() ? "no kind" : op.kind;
  std::replace(kind.begin(), kind.end(), '_', ' ');
  if (grouping == OpGrouping::kind) return kind;
  std::string name = op.name.empty() ? kind : op.name;
  if (op.layer >= 0) name += fmt::format(", layer {}", op.layer);
  if (!op.phase.empty()) name += ", " + op.phase;
  return name;
}

TimeInterval inside(const Timeline& timeline, SpanPosition at, TimeInterval range) {
  const LaneSpan& span = span_at(timeline, at);
  return common(span.interval(), range);
}

bool has_part_in(const Timeline& timeline, SpanPosition at, TimeInterval range) {
  const LaneSpan& span = span_at(timeline, at);
  return span.end_s > range.begin_s && span.start_s < range.end_s;
}

double waiting_in(const Timeline& timeline, const SpanIndex& index, std::int32_t op,
                  TimeInterval range) {
  double sum_s = 0;
  for (const Collective& collective : collectives_of(timeline, index, op)) {
    for (const SpanPosition at : collective.parts) {
      sum_s += common(waiting_of(timeline, collective, at), range).length_s();
    }
  }
  return sum_s;
}

void add_figures(const Timeline& timeline, const SpanIndex& index, TimeInterval range, OpRow& row) {
  const std::vector<double> durations = durations_of(timeline, index, row, range);
  row.count = durations.size();
  for (const double duration_s : durations) row.total_s += duration_s;
  for (const std::int32_t op : row.ops) {
    for (const SpanPosition at : index.of(op)) {
      row.exposed_s += exposed_s(timeline, index, at, range);
    }
    row.waiting_s += waiting_in(timeline, index, op, range);
  }
  if (durations.empty()) return;
  row.mean_s = row.total_s / static_cast<double>(row.count);
  row.median_s = quantile(durations, 0.5);
  row.p95_s = quantile(durations, 0.95);
  row.max_s = durations.back();
}

// Words, lower case. "layer 3" and "chunk 2" become one word each: "layer:3".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(lowered(text));
  for (std::string word; stream >> word;) {
    const bool numbered = !words.empty() && (words.back() == "layer" || words.back() == "chunk") &&
                          std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    if (numbered) {
      words.back() += ":" + word;
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

bool has_word(const TimelineOp& op, const std::string& text, const std::string& word) {
  const std::int64_t chunk = std::int64_t{op.chunk} + 1;
  if (word.starts_with("layer:")) return word == fmt::format("layer:{}", op.layer);
  if (word.starts_with("chunk:")) {
    return op.chunks > 1 && (word == fmt::format("chunk:{}", chunk) ||
                             word == fmt::format("chunk:{}/{}", chunk, op.chunks));
  }
  return text.find(word) != std::string::npos;
}

}  // namespace

std::string op_key(const TimelineOp& op, OpGrouping grouping) {
  if (grouping == OpGrouping::kind) return op.kind;
  return fmt::format("{}\n{}\n{}\n{}", op.name, op.kind, op.layer, op.phase);
}

std::map<std::string, double> same_ops_s(const Timeline& timeline, const SpanIndex& index,
                                         TimeInterval range, const Timeline& other,
                                         const SpanIndex& other_index, OpGrouping grouping) {
  const auto chunk_key = [](const TimelineOp& op) {
    return fmt::format("{}\n{}/{}", op_key(op, OpGrouping::op), op.chunk, op.chunks);
  };
  // By chunk of an op and rank: its spans, in the order of ops and time.
  std::map<std::string, std::map<int, std::vector<double>>> durations;
  for (std::size_t op = 0; op < other.ops.size(); ++op) {
    const auto spans = other_index.of(static_cast<std::int32_t>(op));
    if (spans.empty()) continue;
    auto& of_chunk = durations[chunk_key(other.ops[op])];
    for (const SpanPosition at : spans) {
      of_chunk[rank_at(other, at)].push_back(span_at(other, at).duration_s());
    }
  }
  std::map<std::string, std::map<int, std::size_t>> seen;
  std::map<std::string, double> sums;
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    const auto spans = index.of(static_cast<std::int32_t>(op));
    const std::string key = spans.empty() ? "" : chunk_key(timeline.ops[op]);
    const auto there = durations.find(key);
    if (spans.empty() || there == durations.end()) continue;
    auto& seen_of_chunk = seen[key];
    for (const SpanPosition at : spans) {
      const std::size_t place = seen_of_chunk[rank_at(timeline, at)]++;
      const auto of_rank = there->second.find(rank_at(timeline, at));
      if (of_rank == there->second.end() || place >= of_rank->second.size()) continue;
      const double whole_s = span_at(timeline, at).duration_s();
      const double share = whole_s > 0 ? inside(timeline, at, range).length_s() / whole_s
                                       : (has_part_in(timeline, at, range) ? 1 : 0);
      if (share > 0) sums[op_key(timeline.ops[op], grouping)] += share * of_rank->second[place];
    }
  }
  return sums;
}

std::vector<OpRow> op_table(const Timeline& timeline, const SpanIndex& index, TimeInterval range,
                            OpGrouping grouping) {
  std::map<std::string, OpRow> rows;
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    OpRow& row = rows[op_key(timeline.ops[op], grouping)];
    if (row.ops.empty()) {
      row.sample = timeline.ops[op];
      row.name = row_name(row.sample, grouping);
    }
    row.ops.push_back(static_cast<std::int32_t>(op));
  }
  std::vector<OpRow> sorted;
  for (auto& [key, row] : rows) {
    add_figures(timeline, index, range, row);
    if (row.count > 0) sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OpRow& a, const OpRow& b) { return a.total_s > b.total_s; });
  return sorted;
}

std::vector<double> durations_of(const Timeline& timeline, const SpanIndex& index, const OpRow& row,
                                 TimeInterval range) {
  std::vector<double> durations;
  for (const std::int32_t op : row.ops) {
    for (const SpanPosition at : index.of(op)) {
      if (!has_part_in(timeline, at, range)) continue;
      durations.push_back(inside(timeline, at, range).length_s());
    }
  }
  std::sort(durations.begin(), durations.end());
  return durations;
}

std::vector<SpanPosition> longest_first(const Timeline& timeline, const SpanIndex& index,
                                        const OpRow& row, TimeInterval range) {
  using Key = std::pair<double, double>;  // exposed, duration
  std::vector<std::pair<Key, SpanPosition>> keyed;
  for (const std::int32_t op : row.ops) {
    for (const SpanPosition at : index.of(op)) {
      if (!has_part_in(timeline, at, range)) continue;
      keyed.push_back(
          {{exposed_s(timeline, index, at, range), inside(timeline, at, range).length_s()}, at});
    }
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<SpanPosition> spans;
  for (const auto& [key, at] : keyed) spans.push_back(at);
  return spans;
}

std::vector<std::size_t> histogram(const std::vector<double>& ascending, std::size_t bins) {
  if (ascending.empty() || bins == 0) return {};
  const double first = ascending.front(), width = ascending.back() - first;
  if (!(width > 0)) return {ascending.size()};
  std::vector<std::size_t> counts(bins);
  for (const double value : ascending) {
    const auto bin = static_cast<std::size_t>((value - first) / width * static_cast<double>(bins));
    ++counts[std::min(bin, bins - 1)];
  }
  return counts;
}

std::vector<bool> matching_ops(const Timeline& timeline, const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  std::vector<bool> found;
  for (const TimelineOp& op : timeline.ops) {
    const std::string texts =
        lowered(fmt::format("{} {} {} {}", op.name, op.kind, op.phase, op.stream));
    found.push_back(!words.empty() &&
                    std::all_of(words.begin(), words.end(), [&](const std::string& word) {
                      return has_word(op, texts, word);
                    }));
  }
  return found;
}

std::vector<SpanPosition> spans_of(const Timeline& timeline, const SpanIndex& index,
                                   const std::vector<bool>& ops, TimeInterval range) {
  std::vector<SpanPosition> spans;
  for (std::size_t op = 0; op < ops.size(); ++op) {
    if (!ops[op]) continue;
    for (const SpanPosition at : index.of(static_cast<std::int32_t>(op))) {
      if (has_part_in(timeline, at, range)) spans.push_back(at);
    }
  }
  std::stable_sort(spans.begin(), spans.end(), [&](SpanPosition a, SpanPosition b) {
    return span_at(timeline, a).start_s < span_at(timeline, b).start_s;
  });
  return spans;
}

}  // namespace db
