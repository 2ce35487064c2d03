#include "db/export_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "db/collective_ranks.h"
#include "db/console/output_file.h"
#include "db/load.h"
#include "db/output_place.h"
#include "db/trace_arrows.h"
#include "db/trace_counters.h"
#include "db/trace_events.h"
#include "db/trace_tracks.h"

namespace db {
namespace {

constexpr int kPidStep = 1000;  // between the first pids of two timelines

// What tools that know traces of collectives look for.
std::string collective_args(const TrackSpan& placed) {
  if (placed.op->activity != "communication") return "";
  std::string args = fmt::format(R"(,"Collective name":{})", json_string(placed.op->kind));
  if (placed.span->duration_s > 0) {
    args += fmt::format(R"(,"GB/s":{:.3f})",
                        static_cast<double>(placed.span->bytes) / placed.span->duration_s / 1e9);
  }
  return args;
}

void name_rank(const Timeline& timeline, int rank, int pid, bool several, EventList& events) {
  const std::string name = several ? fmt::format("{} {}: rank {}", timeline.kind, timeline.id, rank)
                                   : fmt::format("rank {}", rank);
  events.add(metadata_event("process_name", pid, 0, "name", json_string(name)));
  events.add(metadata_event("process_sort_index", pid, 0, "sort_index", fmt::format("{}", pid)));
}

void add_counters(const TimelineTracks& tracks, int rank, int pid, EventList& events) {
  std::vector<TrackSpan> spans;
  for (const Track& track : tracks.tracks) {
    if (track.rank == rank) spans.insert(spans.end(), track.spans.begin(), track.spans.end());
  }
  const CounterSample* before = nullptr;
  const std::vector<CounterSample> samples = counter_samples(spans);
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

void add_memory(const Connection& connection, std::int64_t timeline_id, int first_pid,
                EventList& events) {
  for (const MemorySample& sample : memory_samples(connection, timeline_id)) {
    events.add(counter_event(sample.pool == kHostPool ? "host memory in use" : "memory in use",
                             first_pid + sample.rank, sample.at_ns,
                             fmt::format("{}", sample.bytes)));
  }
}

void add_timeline(const Connection& connection, const TimelineTracks& tracks, int first_pid,
                  bool several, std::int64_t& flows, EventList& events) {
  for (const int rank : ranks_of(tracks)) {
    name_rank(tracks.timeline, rank, first_pid + rank, several, events);
    add_counters(tracks, rank, first_pid + rank, events);
  }
  add_memory(connection, tracks.timeline.id, first_pid, events);
  for (const Track& track : tracks.tracks) {
    const int pid = first_pid + track.rank;
    events.add(metadata_event("thread_name", pid, track.id, "name", json_string(track.name)));
    events.add(metadata_event("thread_sort_index", pid, track.id, "sort_index",
                              fmt::format("{}", track.id)));
    for (const TrackSpan& span : track.spans) {
      events.add(
          span_event(span, span.op->name, span.op->phase, pid, track.id, collective_args(span)));
    }
  }
  const auto dependencies = load_dependencies(connection, tracks.timeline.id);
  for (const DependencyArrow& arrow : dependency_arrows(tracks, dependencies)) {
    add_flow(events, "dependency", "dependency", ++flows,
             {first_pid + arrow.from->rank, arrow.from->id, arrow.from_ns},
             {first_pid + arrow.to->rank, arrow.to->id, arrow.to_ns});
  }
  if (!all_ranks_together(connection, tracks.timeline)) return;
  for (const Arrow& arrow : rendezvous_arrows(tracks)) {
    add_flow(events, arrow.op->name, "rendezvous", ++flows,
             {first_pid + arrow.from->rank, arrow.from->id, arrow.at_ns},
             {first_pid + arrow.to->rank, arrow.to->id, arrow.at_ns});
  }
}

std::string about(const std::vector<Timeline>& timelines) {
  nlohmann::json about = nlohmann::json::array();
  for (const Timeline& timeline : timelines) {
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
  std::vector<Timeline> timelines;
  for (const std::int64_t id : timeline_ids) timelines.push_back(load_timeline(connection, id));
  OutputFile file(path);
  file.write(R"({"displayTimeUnit":"ms","traceEvents":[)");
  EventList events(file);
  int first_pid = 0;
  std::int64_t flows = 0;
  for (const Timeline& timeline : timelines) {
    const TimelineTracks tracks = load_tracks(connection, timeline);
    add_timeline(connection, tracks, first_pid, timelines.size() > 1, flows, events);
    const std::vector<int> ranks = ranks_of(tracks);
    const int most = ranks.empty() ? 0 : ranks.back();
    first_pid += (most / kPidStep + 1) * kPidStep;
  }
  file.write(fmt::format("\n],\"otherData\":{{\"moelab\":{}}}}}\n", about(timelines)));
  file.commit();
}

}  // namespace db
