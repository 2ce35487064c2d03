#include "db/trace_arrows.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "db/statement.h"

namespace db {
namespace {

struct Attendance {
  const Track* track = nullptr;
  Interval interval;
};

struct Executed {
  const Track* track = nullptr;
  Interval interval;
};

}  // namespace

std::vector<Dependency> load_dependencies(const Connection& connection, std::int64_t timeline_id) {
  Statement statement(connection, "SELECT op, before FROM op_edge WHERE timeline_id = ?");
  statement.bind(timeline_id);
  std::vector<Dependency> dependencies;
  while (statement.step()) {
    dependencies.push_back(
        {statement.number<int>(0, "op_edge", "op"), statement.number<int>(1, "op_edge", "before")});
  }
  return dependencies;
}

std::vector<DependencyArrow> dependency_arrows(const TimelineTracks& tracks,
                                               const std::vector<Dependency>& dependencies) {
  std::map<std::pair<int, int>, Executed> executed;  // by rank and op
  for (const Track& track : tracks.tracks) {
    for (const TrackSpan& span : track.spans) {
      executed.try_emplace({track.rank, span.op->op}, Executed{&track, span.interval});
    }
  }
  std::vector<DependencyArrow> arrows;
  for (const int rank : ranks_of(tracks)) {
    for (const Dependency& dependency : dependencies) {
      const auto from = executed.find({rank, dependency.before});
      const auto to = executed.find({rank, dependency.op});
      if (from == executed.end() || to == executed.end()) continue;
      const Executed &before = from->second, &after = to->second;
      if (before.track == after.track) continue;
      const std::int64_t end_ns = std::max(before.interval.start_ns, before.interval.end_ns - 1);
      arrows.push_back({before.track, after.track, end_ns, after.interval.start_ns});
    }
  }
  return arrows;
}

std::vector<Arrow> rendezvous_arrows(const TimelineTracks& tracks) {
  std::map<const TimelineOp*, std::vector<Attendance>> collectives;
  for (const Track& track : tracks.tracks) {
    for (const TrackSpan& span : track.spans) {
      if (span.op->activity != "communication") continue;
      collectives[span.op].push_back({&track, span.interval});
    }
  }
  const std::size_t ranks = ranks_of(tracks).size();
  std::vector<Arrow> arrows;
  for (const TimelineOp& op : tracks.ops) {
    const auto found = collectives.find(&op);
    if (found == collectives.end() || found->second.size() != ranks) continue;
    const std::vector<Attendance>& all = found->second;
    const Attendance* last = &all.front();
    std::int64_t first_end_ns = last->interval.end_ns;
    for (const Attendance& one : all) {
      if (one.interval.start_ns > last->interval.start_ns) last = &one;
      first_end_ns = std::min(first_end_ns, one.interval.end_ns);
    }
    const std::int64_t at_ns = last->interval.start_ns;
    if (at_ns > first_end_ns) continue;
    for (const Attendance& one : all) {
      if (one.track->rank == last->track->rank || one.interval.start_ns == at_ns) continue;
      arrows.push_back({last->track, one.track, at_ns, &op});
    }
  }
  return arrows;
}

}  // namespace db
