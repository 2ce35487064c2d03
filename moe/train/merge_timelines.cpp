#include "moe/train/merge_timelines.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "moe/train/collective_order.h"
#include "moe/train/exposed_communication.h"
#include "moe/train/link_times.h"

namespace moe {
namespace {

constexpr std::size_t kPerSpan = 3;
constexpr double kNotRun = -1;  // no op lasts so long

/// Gathers `mine` from every rank, in rank order.
std::vector<double> gather_numbers(Communicator& world, const std::vector<double>& mine,
                                   double time_limit_s) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size));
  const CallContext call{.time_limit_s = time_limit_s, .what = "gathering of spans"};
  world.all_gather(mine.data(), all.data(), static_cast<std::int64_t>(mine.size()), DType::f64,
                   call);
  return all;
}

/// The figures of one rank before its spans, by position.
enum Figure : std::size_t {
  kBegin,
  kDuration,
  kPlannedPeak,
  kTouchedPeak,
  kDropped,
  kHostPeak,
  kFlops,
  kBarrierEntered,
  kBarrierLeft,
  kFigures
};

std::vector<double> packed_iteration(const OwnIteration& mine, const Program& program) {
  const IterationResult& result = mine.result;
  std::vector<double> packed(kFigures);
  packed[kBegin] = result.begin_s;
  packed[kDuration] = result.end_s - result.begin_s;
  packed[kPlannedPeak] = static_cast<double>(result.planned_peak_bytes);
  packed[kTouchedPeak] = static_cast<double>(result.touched_peak_bytes.value_or(0));
  packed[kDropped] = static_cast<double>(result.dropped);
  packed[kHostPeak] = static_cast<double>(result.planned_host_peak_bytes);
  packed[kFlops] = mine.flops;
  packed[kBarrierEntered] = mine.barrier.entered_s;
  packed[kBarrierLeft] = mine.barrier.left_s;
  if (result.spans.empty()) return packed;
  packed.resize(kFigures + kPerSpan * program.ops.size(), kNotRun);
  for (const OpSpan& span : result.spans) {
    const auto op = static_cast<std::size_t>(span.op);
    double* const place = packed.data() + kFigures + kPerSpan * op;
    place[0] = span.start_s;
    place[1] = span.duration_s;
    place[2] = static_cast<double>(result.sent_bytes[op]);
  }
  return packed;
}

/// Says, once in a training, that clocks were not as exact as a barrier had shown.
void say_wrong_order(const WrongOrder& order, const Program& program, int iteration,
                     KnownClocks& known) {
  constexpr double mark_error_s = 1e-4;  // times of devices are no more exact
  if (known.said_wrong_order || order.op < 0) return;
  const double error_s =
      known.clocks.error_s(order.ended_rank) + known.clocks.error_s(order.begun_rank);
  if (order.apart_s <= error_s + mark_error_s) return;
  known.said_wrong_order = true;
  spdlog::warn(
      "iteration {}: by the ranks' clocks \"{}\" ended on rank {} {:.3g} ms before rank {} began "
      "it: spans in timelines are shifted, and are no more exact than that",
      iteration, program.ops[static_cast<std::size_t>(order.op)].name, order.ended_rank,
      1e3 * order.apart_s, order.begun_rank);
}

}  // namespace

void merge_timelines(StepReport& report, const OwnIteration& mine, const Program& program,
                     const Groups& groups, Communicator& world, KnownClocks& known,
                     double time_limit_s) {
  const std::vector<double> packed = packed_iteration(mine, program);
  const std::vector<double> all = gather_numbers(world, packed, time_limit_s);
  const auto at = [&](int rank) {
    return all.data() + static_cast<std::size_t>(rank) * packed.size();
  };
  std::vector<BarrierTimes> barrier;
  for (int r = 0; r < world.size; ++r) {
    const double* of_rank = at(r);
    report.duration_s = std::max(report.duration_s, of_rank[kDuration]);
    report.planned_peak_bytes.push_back(static_cast<std::int64_t>(of_rank[kPlannedPeak]));
    report.touched_peak_bytes.push_back(static_cast<std::int64_t>(of_rank[kTouchedPeak]));
    report.planned_host_peak_bytes.push_back(static_cast<std::int64_t>(of_rank[kHostPeak]));
    report.flops += of_rank[kFlops];
    if (rank_in_stage(groups, r) == 0) {
      report.dropped += static_cast<std::int64_t>(of_rank[kDropped]);
    }
    barrier.push_back({of_rank[kBarrierEntered], of_rank[kBarrierLeft]});
  }
  if (mine.result.spans.empty()) return;
  RankClocks& clocks = known.clocks;
  clocks.follow(barrier);
  report.received = transfers_of(
      mine.result.arrivals, world.rank,
      [&](int rank, int op) {
        return clocks.on_rank_0(rank, at(rank)[kFigures + kPerSpan * static_cast<std::size_t>(op)]);
      },
      [&](double own_s) { return clocks.on_rank_0(world.rank, own_s); });
  if (world.rank != 0) return;

  Timeline& timeline = report.timeline;
  for (int r = 0; r < world.size; ++r) {
    std::vector<OpSpan> spans;
    std::vector<std::int64_t> sent(program.ops.size());
    for (std::size_t op = 0; op < program.ops.size(); ++op) {
      const double* span = at(r) + kFigures + kPerSpan * op;
      if (span[1] == kNotRun) continue;
      const double start_s = clocks.on_rank_0(r, span[0]);
      spans.push_back(
          {static_cast<int>(op), start_s, clocks.on_rank_0(r, span[0] + span[1]) - start_s});
      sent[op] = static_cast<std::int64_t>(span[2]);
    }
    timeline.ranks.push_back(std::move(spans));
    report.sent_bytes.push_back(std::move(sent));
  }
  const ShiftedRanks shifted = shift_into_order(program, groups, timeline);
  say_wrong_order(shifted.worst, program, report.iteration, known);

  double begin_s = std::numeric_limits<double>::infinity(), end_s = -begin_s;
  for (int r = 0; r < world.size; ++r) {
    const double shift_s = shifted.by_s[static_cast<std::size_t>(r)], own_s = at(r)[kBegin];
    begin_s = std::min(begin_s, clocks.on_rank_0(r, own_s) + shift_s);
    end_s = std::max(end_s, clocks.on_rank_0(r, own_s + at(r)[kDuration]) + shift_s);
    // A device's times are less exact than the host's: an op may seem to begin before it was issued.
    for (const OpSpan& span : timeline.ranks[static_cast<std::size_t>(r)]) {
      begin_s = std::min(begin_s, span.start_s);
    }
  }
  timeline.duration_s = end_s - begin_s;
  for (auto& spans : timeline.ranks) {
    for (OpSpan& span : spans) span.start_s -= begin_s;
  }
  report.exposed = exposed_communication(program, timeline, groups);
}

}  // namespace moe
