#include "db/timeline/chrome_trace.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "db/console/output_file.h"
#include "db/load.h"
#include "db/output_place.h"
#include "db/timeline/collective_ranks.h"
#include "db/timeline/read_timeline.h"
#include "db/timeline/span_index.h"
#include "db/timeline/trace_arrows.h"
#include "db/timeline/trace_counters.h"
#include "db/timeline/trace_events.h"

namespace db {
namespace {

constexpr int kPidStep = 1000;  // between the first pids of two timelines

// What tools that know traces of collectives look for.
std::string collective_args(const TimelineOp& op, const LaneSpan& span) {
  if (activity_of(op) != Activity::communication) return "";
  std::string args = fmt::format(R"(,"Collective name":{})", json_string(op.kind));
  if (span.duration_s() > 0) {
    args +=
        fmt::format(R"(,"GB/s":{:.3f})", static_cast<double>(span.bytes) / span.duration_s() / 1e9);
  }
  return args;
}

void name_rank(const TimelineInfo& timeline, int rank, int pid, bool several, EventList& events) {
  const std::string name = several ? fmt::format("{} {}: rank {}", timeline.kind, timeline.id, rank)
                                   : fmt::format("rank {}", rank);
  events.add(metadata_event("process_name", pid, 0, "name", json_string(name)));
  events.add(metadata_event("process_sort_index", pid, 0, "sort_index", fmt::format("{}", pid)));
}

void add_counters(const std::vector<CounterSample>& samples, int pid, EventList& events) {
  const CounterSample* before = nullptr;
  for (const CounterSample& sample : samples) {
    if (before == nullptr || before->bytes != sample.bytes) {
      events.add(
          counter_event("bytes under way", pid, sample.at_ns, fmt::format("{}", sample.bytes)));
    }
    if (before == nullptr || before->exposed != sample.exposed) {
      events.add(
          counter_event("exposed communication", pid, sample.at_ns, sample.exposed ? "1" : "0"));
    }
    before = &sample;
  }
}

void add_memory(const MemoryTable& memory, double end_s, int first_pid, EventList& events) {
  const auto add = [&](const char* name, int pid, const PoolUse& use) {
    for (const MemoryStep& step : use.steps) {
      events.add(
          counter_event(name, pid, nanoseconds(step.at_s), fmt::format("{:.0f}", step.bytes)));
    }
    if (!use.steps.empty()) events.add(counter_event(name, pid, nanoseconds(end_s), "0"));
  };
  for (const RankMemory& rank : memory.ranks) {
    add("memory in use", first_pid + rank.rank, rank.device);
    add("host memory in use", first_pid + rank.rank, rank.host);
  }
}

void add_timeline(const Connection& connection, const Timeline& timeline, int first_pid,
                  bool several, std::int64_t& flows, EventList& events) {
  for (const TimeLedger& ledger : timeline.ledgers) {
    name_rank(timeline.info, ledger.rank, first_pid + ledger.rank, several, events);
    add_counters(counter_samples(timeline, ledger), first_pid + ledger.rank, events);
  }
  add_memory(read_memory(connection, timeline.info), timeline.extent.end_s, first_pid, events);
  const std::vector<Track> tracks = tracks_of(timeline);
  for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
    const int pid = first_pid + timeline.lanes[l].rank, tid = tracks[l].id;
    events.add(metadata_event("thread_name", pid, tid, "name", json_string(tracks[l].name)));
    events.add(metadata_event("thread_sort_index", pid, tid, "sort_index", fmt::format("{}", tid)));
    for (const LaneSpan& span : timeline.lanes[l].spans) {
      const TimelineOp& op = timeline.ops[static_cast<std::size_t>(span.op)];
      events.add(span_event(op, span, op.name, op.phase, pid, tid, collective_args(op, span)));
    }
  }
  const auto end_of = [&](SpanPosition at, std::int64_t at_ns) {
    return FlowEnd{first_pid + rank_at(timeline, at), tracks[at.lane].id, at_ns};
  };
  const SpanIndex index = index_spans(timeline);
  for (const TraceArrow& arrow : dependency_arrows(timeline, index)) {
    add_flow(events, "dependency", "dependency", ++flows, end_of(arrow.from, arrow.from_ns),
             end_of(arrow.to, arrow.to_ns));
  }
  const bool all_together = all_ranks_together(connection, timeline.info);
  for (const TraceArrow& arrow : rendezvous_arrows(timeline, index, all_together)) {
    add_flow(events, op_at(timeline, arrow.to).name, "rendezvous", ++flows,
             end_of(arrow.from, arrow.from_ns), end_of(arrow.to, arrow.to_ns));
  }
}

std::string about(const std::vector<TimelineInfo>& timelines) {
  nlohmann::json about = nlohmann::json::array();
  for (const TimelineInfo& timeline : timelines) {
    about.push_back({{"timeline", timeline.id},
                     {"run", timeline.run_id.value_or(0)},
                     {"trial", timeline.trial_id.value_or(0)},
                     {"kind", timeline.kind},
                     {"label", timeline.label},
                     {"iteration", timeline.iteration}});
  }
  return about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void export_trace(const Connection& connection, std::span<const std::int64_t> timeline_ids,
                  const std::string& path) {
  refuse_database_as_output(path, connection.path());
  std::vector<TimelineInfo> timelines;
  for (const std::int64_t id : timeline_ids) timelines.push_back(load_timeline(connection, id));
  OutputFile file(path);
  file.write(R"({"displayTimeUnit":"ms","traceEvents":[)");
  EventList events(file);
  int first_pid = 0;
  std::int64_t flows = 0;
  for (const TimelineInfo& info : timelines) {
    const Timeline timeline = read_timeline(connection, info);
    add_timeline(connection, timeline, first_pid, timelines.size() > 1, flows, events);
    const int most = timeline.ledgers.empty() ? 0 : timeline.ledgers.back().rank;
    first_pid += (most / kPidStep + 1) * kPidStep;
  }
  file.write(fmt::format("\n],\"otherData\":{{\"moelab\":{}}}}}\n", about(timelines)));
  file.commit();
}

}  // namespace db
