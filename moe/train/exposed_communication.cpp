#include "moe/train/exposed_communication.h"

#include <utility>

#include "db/timeline_statistics.h"

namespace moe {

double exposed_communication_s(const Program& program, const IterationResult& result) {
  db::ActivityIntervals intervals;
  for (const OpSpan& span : result.spans) {
    const db::TimeInterval interval{span.start_s, span.start_s + span.duration_s};
    switch (facts_of(program.ops[span.op]).activity) {
      case Activity::computation:
        intervals.computation.push_back(interval);
        break;
      case Activity::communication:
        intervals.communication.push_back(interval);
        break;
      case Activity::copy:
        break;
    }
  }
  return db::rank_statistics(0, std::move(intervals), {result.begin_s, result.end_s}).exposed_s;
}

}  // namespace moe
