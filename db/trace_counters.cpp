#include "db/trace_counters.h"

#include <cmath>
#include <map>

#include "db/statement.h"

namespace db {
namespace {

struct Change {
  int computing = 0;
  int communicating = 0;
  std::int64_t bytes = 0;
};

}  // namespace

std::vector<CounterSample> counter_samples(std::span<const TrackSpan> spans) {
  std::map<std::int64_t, Change> changes;
  for (const TrackSpan& span : spans) {
    const bool computes = span.op->activity == "computation";
    if (!computes && span.op->activity != "communication") continue;
    if (span.interval.end_ns <= span.interval.start_ns) continue;
    Change &begin = changes[span.interval.start_ns], &end = changes[span.interval.end_ns];
    if (computes) {
      ++begin.computing, --end.computing;
    } else {
      ++begin.communicating, --end.communicating;
      begin.bytes += span.span->bytes, end.bytes -= span.span->bytes;
    }
  }
  std::vector<CounterSample> samples;
  Change now;
  for (const auto& [at_ns, change] : changes) {
    now.computing += change.computing;
    now.communicating += change.communicating;
    now.bytes += change.bytes;
    const bool exposed = now.communicating > 0 && now.computing == 0;
    const bool same =
        !samples.empty() && samples.back().bytes == now.bytes && samples.back().exposed == exposed;
    if (!same) samples.push_back({at_ns, now.bytes, exposed});
  }
  return samples;
}

std::vector<MemorySample> memory_samples(const Connection& connection, std::int64_t timeline_id) {
  Statement statement(connection,
                      "SELECT rank, pool, at_s, bytes FROM memory_view WHERE timeline = ? "
                      "ORDER BY rank, pool, at_s");
  statement.bind(timeline_id);
  std::vector<MemorySample> samples;
  while (statement.step()) {
    samples.push_back({statement.number<int>(0, "allocation", "rank"),
                       statement.value<std::string>(1),
                       std::llround(statement.number<double>(2, "allocation", "begin_s") * 1e9),
                       statement.value<std::int64_t>(3)});
  }
  return samples;
}

}  // namespace db
