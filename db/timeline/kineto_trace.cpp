#include "db/timeline/kineto_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "db/console/output_file.h"
#include "db/output_place.h"
#include "db/timeline/collective_ranks.h"
#include "db/timeline/exchange_splits.h"
#include "db/timeline/read_timeline.h"
#include "db/timeline/trace_events.h"

namespace db {
namespace {

using nlohmann::json;

constexpr int kDevice = 0;          // every rank has one: a process of the trace
constexpr int kFirstStream = 7;     // the number that PyTorch's default stream has in Kineto
constexpr int kFirstCpuPid = 1000;  // plus the rank: the process that launches
constexpr int kCpuThread = 1;
constexpr int kStepThread = 2;  // of the annotation around the iteration

/// Ranks that communicate with each other, as PyTorch calls a group of processes.
struct ProcessGroup {
  std::string name;         // a number; "0" is all ranks
  std::string description;  // what the layout calls it
  std::vector<int> ranks;   // ascending
};

/// What all files of a timeline have in common.
struct World {
  const Timeline& timeline;
  std::vector<Track> tracks;  // [lane]
  std::vector<int> ranks;
  bool one_group = false;
  ExchangeTokens tokens;
  std::vector<ProcessGroup> groups = {};                             // that of all ranks first
  std::map<std::pair<std::string, int>, std::size_t> group_of = {};  // (kind, rank): in groups
};

// All ranks, and the groups of the layout that are not all ranks.
void add_groups(World& world) {
  world.groups.push_back({"0", "default_pg", world.ranks});
  std::map<std::pair<std::string, int>, std::vector<int>> found;  // (kind, lowest rank)
  for (const auto& [kind, first_rank] : world.timeline.first_rank) {
    for (const auto& [rank, first] : first_rank) found[{kind, first}].push_back(rank);
  }
  for (auto& [key, ranks] : found) {
    std::size_t place = 0;
    if (ranks != world.ranks) {
      place = world.groups.size();
      world.groups.push_back({std::to_string(place), key.first, ranks});
    }
    for (const int rank : ranks) world.group_of[{key.first, rank}] = place;
  }
}

// The group that a rank runs a collective in; null where that is not known.
const ProcessGroup* process_group(const World& world, const TimelineOp& op, int rank) {
  const auto found = world.group_of.find({op.group_kind, rank});
  if (found != world.group_of.end()) return &world.groups[found->second];
  return world.one_group ? &world.groups.front() : nullptr;
}

// What PyTorch calls a collective; others as they are.
std::string collective_name(const std::string& kind) {
  if (kind == "all_to_all") return "all_to_allv";
  if (kind == "all_reduce") return "allreduce";
  if (kind == "all_gather") return "_allgather_base";
  return kind == "reduce_scatter" ? "_reduce_scatter_base" : kind;
}

// Args of a collective as Kineto's NCCL metadata has them.
std::string kineto_collective(const World& world, int rank, const TimelineOp& op,
                              const LaneSpan& span) {
  std::int64_t sent = span.bytes, received = sent;
  std::string splits;
  if (op.kind == "all_to_all" && op.chunks == 1 && world.one_group) {
    const bool back = op.name.ends_with("combine");
    const Splits split = exchange_splits(world.tokens, op.layer, rank, sent, back);
    if (!split.sent.empty()) {
      sent = received = 0;
      for (const std::int64_t part : split.sent) sent += part;
      for (const std::int64_t part : split.received) received += part;
      splits = fmt::format(R"(,"In split size":"{}","Out split size":"{}")",
                           json(split.sent).dump(), json(split.received).dump());
    }
  }
  std::string args =
      fmt::format(R"(,"Collective name":{},"In msg nelems":{},"Out msg nelems":{},"dtype":"Byte")",
                  json_string(collective_name(op.kind)), sent, received);
  args += splits;
  if (const ProcessGroup* group = process_group(world, op, rank)) {
    args +=
        fmt::format(R"(,"Group size":{},"Process Group Name":"{}","Process Group Description":{},)"
                    R"("Process Group Ranks":"{}","Rank":{})",
                    group->ranks.size(), group->name, json_string(group->description),
                    json(group->ranks).dump(), rank);
  }
  return args;
}

std::string kernel_name(const TimelineOp& op) {
  const std::string chunk =
      op.chunks > 1 ? fmt::format(" {}/{}", op.chunk + 1, op.chunks) : std::string();
  if (op.activity == "communication") return fmt::format("ncclDevKernel_{}{}", op.name, chunk);
  if (op.activity == "copy") return fmt::format("Memcpy {}{}", op.name, chunk);
  return op.name + chunk;
}

void add_on_device(const World& world, int rank, int track, const LaneSpan& span,
                   std::int64_t correlation, EventList& events) {
  const TimelineOp& op = world.timeline.ops[static_cast<std::size_t>(span.op)];
  const int stream = kFirstStream + track, cpu = kFirstCpuPid + rank;
  const std::int64_t start_ns = nanoseconds(span.start_s);
  std::string more =
      fmt::format(R"(,"device":{},"context":1,"stream":{},"correlation":{},"External id":{})",
                  kDevice, stream, correlation, correlation);
  if (op.activity == "communication") more += kineto_collective(world, rank, op, span);
  events.add(span_event(op, span, kernel_name(op), op.activity == "copy" ? "gpu_memcpy" : "kernel",
                        kDevice, stream, more));
  const char* call = op.activity == "copy" ? "cudaMemcpyAsync" : "cudaLaunchKernel";
  events.add(fmt::format(
      R"({{"name":"{}","cat":"cuda_runtime","ph":"X","pid":{},"tid":{},"ts":{},"dur":0,)"
      R"("args":{{"correlation":{},"External id":{}}}}})",
      call, cpu, kCpuThread, microseconds(start_ns), correlation, correlation));
  add_flow(events, "ac2g", "ac2g", correlation, {cpu, kCpuThread, start_ns},
           {kDevice, stream, start_ns});
}

void name_processes(const World& world, int rank, EventList& events) {
  const int cpu = kFirstCpuPid + rank;
  const auto name = [&](const char* what, int pid, int tid, const std::string& text) {
    events.add(metadata_event(what, pid, tid, "name", json_string(text)));
  };
  name("process_name", cpu, 0, fmt::format("rank {}", rank));
  events.add(metadata_event("process_labels", cpu, 0, "labels", "\"CPU\""));
  name("process_name", kDevice, 0, fmt::format("rank {}", rank));
  events.add(metadata_event("process_labels", kDevice, 0, "labels", "\"GPU 0\""));
  for (std::size_t l = 0; l < world.tracks.size(); ++l) {
    if (world.timeline.lanes[l].rank != rank) continue;
    const int stream = kFirstStream + world.tracks[l].id;
    name("thread_name", kDevice, stream, fmt::format("stream {} {}", stream, world.tracks[l].name));
  }
}

void add_step(const World& world, int rank, EventList& events) {
  const TimelineInfo& timeline = world.timeline.info;
  events.add(fmt::format(
      R"({{"name":"ProfilerStep#{}","cat":"user_annotation","ph":"X","pid":{},"tid":{},"ts":0,)"
      R"("dur":{},"args":{{}}}})",
      timeline.iteration, kFirstCpuPid + rank, kStepThread,
      microseconds(std::llround(timeline.duration_s * 1e9))));
}

std::string header(const World& world, int rank) {
  json groups = json::array();
  for (const ProcessGroup& group : world.groups) {
    groups.push_back({{"pg_name", group.name},
                      {"pg_desc", group.description},
                      {"backend_config", "moelab"},
                      {"pg_size", group.ranks.size()},
                      {"ranks", group.ranks}});
  }
  const json distributed = {{"backend", "moelab"},
                            {"rank", rank},
                            {"world_size", world.ranks.size()},
                            {"pg_count", groups.size()},
                            {"pg_config", groups}};
  return fmt::format(
      R"({{"schemaVersion":1,"distributedInfo":{},"displayTimeUnit":"ms",)"
      R"("baseTimeNanoseconds":0,"traceName":{},"traceEvents":[)",
      distributed.dump(1),  // HTA looks for "rank" with a space after it
      json_string(fmt::format("timeline {}, rank {}", world.timeline.info.id, rank)));
}

void write_rank(const World& world, int rank, const std::string& path) {
  OutputFile file(path);
  file.write(header(world, rank));
  EventList events(file);
  name_processes(world, rank, events);
  add_step(world, rank, events);
  std::int64_t correlation = 0;
  for (std::size_t l = 0; l < world.tracks.size(); ++l) {
    if (world.timeline.lanes[l].rank != rank) continue;
    for (const LaneSpan& span : world.timeline.lanes[l].spans) {
      const TimelineOp& op = world.timeline.ops[static_cast<std::size_t>(span.op)];
      if (activity_of(op) == Activity::host) {
        events.add(span_event(op, span, op.name, "cpu_op", kFirstCpuPid + rank, kCpuThread));
      } else {
        add_on_device(world, rank, world.tracks[l].id, span, ++correlation, events);
      }
    }
  }
  file.write("\n]}\n");
  file.commit();
}

std::string name_of_trace(int rank) { return fmt::format("rank-{}.json", rank); }

/// Who reads the folder would take the files of an export with more ranks for ranks of this one.
void expect_no_other_rank(const std::string& folder, const std::vector<int>& ranks) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const bool is_ours = std::any_of(ranks.begin(), ranks.end(),
                                     [&](int rank) { return name == name_of_trace(rank); });
    if (is_ours || !name.starts_with("rank-") || !name.ends_with(".json")) continue;
    throw OutputError(
        fmt::format("{}: is of another export, this one has {} ranks: name another folder",
                    entry.path().string(), ranks.size()),
        kExitWrongUse);
  }
}

}  // namespace

void export_rank_traces(const Connection& connection, const TimelineInfo& info,
                        const std::string& folder) {
  const Timeline timeline = read_timeline(connection, info);
  World world{timeline, tracks_of(timeline), {}, all_ranks_together(connection, info), {}};
  for (const TimeLedger& ledger : timeline.ledgers) world.ranks.push_back(ledger.rank);
  add_groups(world);
  world.tokens = exchange_tokens(connection, info, static_cast<int>(world.ranks.size()));
  make_output_folder(folder);
  expect_no_other_rank(folder, world.ranks);
  for (const int rank : world.ranks) {
    write_rank(world, rank, (std::filesystem::path(folder) / name_of_trace(rank)).string());
  }
}

}  // namespace db
