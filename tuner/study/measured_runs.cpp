#include "tuner/study/measured_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "db/error.h"
#include "db/load.h"
#include "moe/model/iteration.h"
#include "moe/passes/schedule.h"
#include "moe/program/row_handling.h"
#include "tuner/scenario/routing_spec.h"

namespace tuner {
namespace {

bool is_warm(const db::TimelineInfo& timeline) {
  return timeline.iteration > moe::kWarmupIterations;
}

std::vector<db::TimelineInfo> measured_timelines(const db::Connection& connection,
                                                 std::int64_t run_id) {
  db::TimelineFilter filter;
  filter.run_id = run_id;
  filter.kind = db::kMeasured;
  return db::load_timelines(connection, filter);
}

}  // namespace

bool has_measured_timeline(const db::Connection& connection, std::int64_t run_id) {
  return !measured_timelines(connection, run_id).empty();
}

moe::Timeline load_op_timeline(const db::Connection& connection, const db::TimelineInfo& timeline,
                               int ranks, std::size_t ops) {
  moe::Timeline result;
  result.duration_s = timeline.duration_s;
  result.ranks.assign(static_cast<std::size_t>(ranks), std::vector<moe::OpSpan>(ops, {-1, 0, 0}));
  for (const db::Span& span : db::load_spans(connection, timeline.id)) {
    if (span.rank >= ranks || static_cast<std::size_t>(span.op) >= ops) {
      throw db::Error(db::ErrorKind::invalid,
                      fmt::format("{}: timeline {}: op {} of rank {} is not of this model",
                                  connection.path(), timeline.id, span.op, span.rank));
    }
    result.ranks[span.rank][span.op] = {span.op, span.start_s, span.duration_s};
  }
  return result;
}

bool add_run(const db::Connection& connection, const moe::Program& whole, const db::Run& run,
             MeasuredRuns& measured) {
  auto timelines = measured_timelines(connection, run.id);
  if (std::any_of(timelines.begin(), timelines.end(), is_warm)) {
    std::erase_if(timelines, [&](const db::TimelineInfo& timeline) { return !is_warm(timeline); });
  }
  if (timelines.empty()) return false;
  const bool routes = !moe::row_handling(whole).empty();
  const db::Schedule schedule = db::load_schedule(connection, *run.schedule_id);
  measured.programs.push_back(moe::apply(whole, moe::schedule_from_json(schedule.json)));
  const moe::Program& program = measured.programs.back();
  for (const db::TimelineInfo& timeline : timelines) {
    moe::Routing routing;
    if (routes) {
      routing = recorded_routing(connection, run.id, timeline.iteration, whole, whole.groups);
    }
    measured.iterations.push_back(
        {&program, std::move(routing),
         load_op_timeline(connection, timeline, run.ranks, program.ops.size())});
    measured.runs.push_back(measured.programs.size() - 1);
  }
  return true;
}

}  // namespace tuner
