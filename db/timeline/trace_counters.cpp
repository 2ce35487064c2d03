#include "db/timeline/trace_counters.h"

#include <map>

#include "db/timeline/trace_events.h"

namespace db {
namespace {

struct Change {
  int computing = 0;
  int communicating = 0;
  std::int64_t bytes = 0;
};

void add_changes(const LaneSpan& span, Activity activity, std::map<std::int64_t, Change>& changes) {
  const bool computes = activity == Activity::computation;
  if (!computes && activity != Activity::communication) return;
  const std::int64_t start_ns = nanoseconds(span.start_s), end_ns = nanoseconds(span.end_s);
  if (end_ns <= start_ns) return;
  Change &begin = changes[start_ns], &end = changes[end_ns];
  if (computes) {
    ++begin.computing, --end.computing;
  } else {
    ++begin.communicating, --end.communicating;
    begin.bytes += span.bytes, end.bytes -= span.bytes;
  }
}

}  // namespace

std::vector<CounterSample> counter_samples(const Timeline& timeline, const TimeLedger& rank) {
  std::map<std::int64_t, Change> changes;
  for (const Lane& lane : lanes_of(timeline, rank)) {
    for (const LaneSpan& span : lane.spans) {
      add_changes(span, timeline.counted[static_cast<std::size_t>(span.op)].activity, changes);
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
