#include "db/trace_counters.h"

#include <map>

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

}  // namespace db
