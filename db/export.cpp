#include "db/export.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "db/console/output_file.h"
#include "db/load.h"
#include "db/output_place.h"

namespace db {
namespace {

constexpr int kTimelineStride = 1000;  // between the pids of two timelines

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct PlacedSpan {
  const Span* span = nullptr;
  const TimelineOp* op = nullptr;
  Interval interval;
  int lane = 0;
};

// Streams in the order in which a reader looks for them; others follow by name.
int stream_rank(const std::string& stream) {
  static const std::vector<std::string> known{"compute", "inter_node", "intra_node", "copy",
                                              "host"};
  return static_cast<int>(std::find(known.begin(), known.end(), stream) - known.begin());
}

std::string metadata(const char* what, int pid, int tid, const std::string& key,
                     const std::string& value) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"{}":{}}}}})", what, pid,
                     tid, key, value);
}

std::string complete_event(const PlacedSpan& placed, int pid, int tid) {
  const auto& [span, op, interval, lane] = placed;
  std::string event = fmt::format(
      R"({{"name":{},"cat":{},"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
      R"("args":{{"op":{},"kind":{},"phase":{},"layer":{},"chunk":{},"chunks":{},)"
      R"("bytes":{},"flops":{})",
      quoted(op->name), quoted(op->phase), pid, tid, static_cast<double>(interval.start_ns) / 1e3,
      static_cast<double>(interval.end_ns - interval.start_ns) / 1e3, op->op, quoted(op->kind),
      quoted(op->phase), op->layer, op->chunk, op->chunks, span->bytes, span->flops);
  if (op->activity == "communication") {
    event += fmt::format(R"(,"Collective name":{})", quoted(op->kind));
    if (span->duration_s > 0) {
      event += fmt::format(R"(,"GB/s":{:.3f})",
                           static_cast<double>(span->bytes) / span->duration_s / 1e9);
    }
  }
  return event + "}}";
}

class TraceWriter {
 public:
  explicit TraceWriter(OutputFile& file) : file_(file) {}
  void event(const std::string& text) {
    file_.write(first_ ? "\n" : ",\n");
    file_.write(text);
    first_ = false;
  }

 private:
  OutputFile& file_;
  bool first_ = true;
};

void write_timeline(const Connection& connection, const Timeline& timeline, int first_pid,
                    bool several, TraceWriter& writer) {
  const auto ops = load_timeline_ops(connection, timeline.id);
  const auto spans = load_spans(connection, timeline.id);
  std::unordered_map<int, const TimelineOp*> op_of;
  for (const TimelineOp& op : ops) op_of[op.op] = &op;

  std::map<std::pair<int, std::string>, std::map<int, std::vector<PlacedSpan>>> streams;
  for (const Span& span : spans) {
    const auto found = op_of.find(span.op);
    if (found == op_of.end()) {
      throw Error(ErrorKind::corrupt,
                  fmt::format("{}: timeline {} has a span of op {}, which it does not describe",
                              connection.path(), timeline.id, span.op));
    }
    const TimelineOp& op = *found->second;
    const Interval interval{std::llround(span.start_s * 1e9),
                            std::llround((span.start_s + span.duration_s) * 1e9)};
    streams[{stream_rank(op.stream), op.stream}][span.rank].push_back({&span, &op, interval, 0});
  }

  int tid = 0;  // the same for a stream on every rank
  std::map<int, bool> named;
  for (auto& [key, ranks] : streams) {
    int lanes = 1;
    for (auto& [rank, placed] : ranks) {
      std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
        return a.interval.start_ns != b.interval.start_ns
                   ? a.interval.start_ns < b.interval.start_ns
                   : a.interval.end_ns > b.interval.end_ns;
      });
      std::vector<Interval> intervals;
      for (const PlacedSpan& span : placed) intervals.push_back(span.interval);
      const auto assigned = assign_lanes(intervals);
      for (std::size_t i = 0; i < placed.size(); ++i) {
        placed[i].lane = assigned[i];
        lanes = std::max(lanes, assigned[i] + 1);
      }
    }
    for (const auto& [rank, placed] : ranks) {
      const int pid = first_pid + rank;
      if (!named[rank]) {
        const std::string name =
            several ? fmt::format("{} {}: rank {}", timeline.kind, timeline.id, rank)
                    : fmt::format("rank {}", rank);
        writer.event(metadata("process_name", pid, 0, "name", quoted(name)));
        writer.event(metadata("process_sort_index", pid, 0, "sort_index", fmt::format("{}", pid)));
        named[rank] = true;
      }
      std::vector<bool> used(static_cast<std::size_t>(lanes), false);
      for (const PlacedSpan& span : placed) used[span.lane] = true;
      for (int lane = 0; lane < lanes; ++lane) {
        if (!used[lane]) continue;
        const std::string name =
            lane == 0 ? key.second : fmt::format("{} ({})", key.second, lane + 1);
        writer.event(metadata("thread_name", pid, tid + lane, "name", quoted(name)));
        writer.event(metadata("thread_sort_index", pid, tid + lane, "sort_index",
                              fmt::format("{}", tid + lane)));
      }
      for (const PlacedSpan& span : placed) {
        writer.event(complete_event(span, pid, tid + span.lane));
      }
    }
    tid += lanes;
  }
}

}  // namespace

std::vector<int> assign_lanes(std::span<const Interval> intervals) {
  std::vector<std::vector<std::int64_t>> open;  // per lane, the ends of the spans around this point
  std::vector<int> lanes;
  lanes.reserve(intervals.size());
  for (const Interval& interval : intervals) {
    std::size_t lane = 0;
    for (;; ++lane) {
      if (lane == open.size()) open.emplace_back();
      auto& ends = open[lane];
      while (!ends.empty() && ends.back() <= interval.start_ns) ends.pop_back();
      if (ends.empty() || interval.end_ns <= ends.back()) break;
    }
    open[lane].push_back(interval.end_ns);
    lanes.push_back(static_cast<int>(lane));
  }
  return lanes;
}

void export_trace(const Connection& connection, std::span<const std::int64_t> timeline_ids,
                  const std::string& path) {
  refuse_database_as_output(path, connection.path());
  std::vector<Timeline> timelines;
  for (const std::int64_t id : timeline_ids) timelines.push_back(load_timeline(connection, id));
  OutputFile file(path);
  file.write(R"({"displayTimeUnit":"ms","traceEvents":[)");
  TraceWriter writer(file);
  for (std::size_t i = 0; i < timelines.size(); ++i) {
    write_timeline(connection, timelines[i], static_cast<int>(i) * kTimelineStride,
                   timelines.size() > 1, writer);
  }
  nlohmann::json about = nlohmann::json::array();
  for (const Timeline& timeline : timelines) {
    about.push_back({{"timeline", timeline.id},
                     {"run", timeline.run_id.value_or(0)},
                     {"trial", timeline.trial_id.value_or(0)},
                     {"kind", timeline.kind},
                     {"label", timeline.label},
                     {"iteration", timeline.iteration}});
  }
  file.write("\n],\"otherData\":{\"moelab\":" +
             about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "}}\n");
  file.commit();
}

Timeline default_timeline(const Connection& connection, std::int64_t run_id) {
  load_run(connection, run_id);  // says so where there is no such run
  const auto timelines = load_timelines(connection, {.run_id = run_id});
  if (timelines.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: run {} has no timeline", connection.path(), run_id));
  }
  // Runs keep the most typical iteration first and may end on the one that warmed up.
  return *std::min_element(
      timelines.begin(), timelines.end(), [](const Timeline& a, const Timeline& b) {
        const bool a_measured = a.kind == "measured";
        if (a_measured != (b.kind == "measured")) return a_measured;
        return a_measured ? a.iteration > b.iteration : a.duration_s < b.duration_s;
      });
}

void export_routing(const Connection& connection, std::int64_t run_id, int iteration,
                    const std::string& path) {
  refuse_database_as_output(path, connection.path());
  struct Layer {
    int first_rank = 0;
    std::vector<std::vector<std::int64_t>> tokens;  // by rank of the stage, then by expert
  };
  std::map<std::pair<int, int>, Layer> layers;  // by micro-batch and layer
  // Ascending by layer, rank, expert.
  for (const Load& load :
       load_loads(connection,
                  {.run_id = run_id, .first_iteration = iteration, .last_iteration = iteration})) {
    const auto [found, is_new] = layers.try_emplace({std::max(load.micro_batch, 0), load.layer});
    Layer& layer = found->second;
    if (is_new) layer.first_rank = load.rank;
    layer.tokens.resize(static_cast<std::size_t>(load.rank - layer.first_rank) + 1);
    layer.tokens.back().push_back(load.tokens);
  }
  if (layers.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: run {} has no loads of iteration {}; moe-db loads lists what is "
                            "stored, moe-train --loads-every 1 stores all",
                            connection.path(), run_id, iteration));
  }
  nlohmann::json entries = nlohmann::json::array();
  for (const auto& [key, layer] : layers) {
    const auto [micro_batch, index] = key;
    entries.push_back({{"layer", index}, {"tokens", layer.tokens}});
    if (micro_batch > 0) entries.back()["micro_batch"] = micro_batch;
  }
  OutputFile file(path);
  file.write(nlohmann::json{{"layers", entries}}.dump() + "\n");
  file.commit();
}

int last_loads_iteration(const Connection& connection, std::int64_t run_id) {
  load_run(connection, run_id);  // says so where there is no such run
  const std::vector<int> iterations = load_recorded_iterations(connection, run_id);
  if (iterations.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: run {} has no loads", connection.path(), run_id));
  }
  return iterations.back();
}

}  // namespace db
