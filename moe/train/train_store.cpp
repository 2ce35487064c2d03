#include "moe/train/train_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "db/store.h"
#include "db/transaction.h"
#include "moe/program/work.h"

namespace moe {
namespace {

const char* activity_of(const Op& op) {
  if (is_communication(op)) return "communication";
  return op.stream == Stream::copy ? "copy" : op.stream == Stream::host ? "host" : "computation";
}

constexpr double kFlushInterval_s = 1;
/// Iterations at the end among which the typical ones are chosen.
constexpr std::size_t kRecentIterations = 16;

}  // namespace

TimelineRows timeline_rows(const Program& program, const Timeline& timeline, const Routing& routing,
                           const Groups& groups,
                           const std::vector<std::vector<std::int64_t>>& sent_bytes) {
  TimelineRows rows;
  rows.timeline.duration_s = timeline.duration_s;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    rows.ops.push_back({0, static_cast<int>(i), op.name, std::string(kind_name(op)),
                        activity_of(op), std::string(stream_name(op.stream)),
                        std::string(phase_name(op.phase)), op.layer, op.chunk.index,
                        op.chunk.count});
  }
  for (std::size_t r = 0; r < timeline.ranks.size(); ++r) {
    const int rank = static_cast<int>(r);
    const Binding binding = bind(program, routing, groups, rank);
    for (const OpSpan& span : timeline.ranks[r]) {
      const Op& op = program.ops[span.op];
      const Work work = work_of(program, op, binding, groups, rank);
      std::int64_t bytes = work.memory_bytes;
      if (is_communication(op))
        bytes =
            sent_bytes.empty() ? work.wire_bytes : sent_bytes[r][static_cast<std::size_t>(span.op)];
      rows.spans.push_back({0, rank, span.op, span.start_s, span.duration_s, bytes, work.flops});
    }
  }
  return rows;
}

TrainStore::TrainStore(const std::string& path, db::Run run, const std::vector<RankInfo>& ranks,
                       Groups groups, int timelines)
    : connection_(db::open_writer(path)),
      groups_(std::move(groups)),
      timelines_(timelines),
      flushed_at_(db::now()) {
  run_id_ = db::insert(connection_, std::move(run));
  for (std::size_t r = 0; r < ranks.size(); ++r)
    ranks_.push_back({run_id_, static_cast<int>(r), ranks[r].hostname, ranks[r].node, ranks[r].pid,
                      ranks[r].clock.offset_s, ranks[r].clock.error_s, 0, 0});
  db::insert(connection_, ranks_);
}

void TrainStore::observe(int, const Schedule&, const Program& program) {
  programs_.push_back(program);
  tokens_per_iteration_ = program.tensors[program.tokens].rows * groups_.ranks;
}

void TrainStore::observe(const StepReport& report) {
  iterations_.push_back({run_id_, report.iteration, report.loss, report.auxiliary_loss,
                         report.heldout_loss, report.duration_s, tokens_per_iteration_,
                         report.dropped, std::nullopt});
  for (const LayerRouting& layer : report.routing.layers)
    for (int r = 0; r < static_cast<int>(layer.tokens.size()); ++r)
      for (int e = 0; e < layer.experts; ++e)
        loads_.push_back({run_id_, report.iteration, layer.layer, r, e, layer.tokens[r][e]});
  for (std::size_t r = 0; r < report.planned_peak_bytes.size(); ++r) {
    ranks_[r].predicted_peak_bytes =
        std::max(ranks_[r].predicted_peak_bytes, report.planned_peak_bytes[r]);
    ranks_[r].measured_peak_bytes =
        std::max(ranks_[r].measured_peak_bytes, report.touched_peak_bytes[r]);
  }
  if (timelines_ > 0 && !report.timeline.ranks.empty()) {
    recent_.push_back({report, programs_.size() - 1});
    if (recent_.size() > std::max<std::size_t>(kRecentIterations, timelines_)) recent_.pop_front();
  }
  if (db::now() - flushed_at_ > kFlushInterval_s) flush();
}

void TrainStore::flush() {
  db::Transaction transaction(connection_, "store iterations");
  db::insert(connection_, iterations_);
  db::insert(connection_, loads_);
  db::heartbeat_run(connection_, run_id_);
  transaction.commit();
  iterations_.clear();
  loads_.clear();
  flushed_at_ = db::now();
}

void TrainStore::store_timelines() {
  std::vector<double> durations;
  for (const Recent& recent : recent_) durations.push_back(recent.report.duration_s);
  std::sort(durations.begin(), durations.end());
  const double median = durations.empty() ? 0 : durations[durations.size() / 2];
  std::sort(recent_.begin(), recent_.end(), [&](const Recent& a, const Recent& b) {
    return std::abs(a.report.duration_s - median) < std::abs(b.report.duration_s - median);
  });
  for (int i = 0; i < timelines_ && i < static_cast<int>(recent_.size()); ++i) {
    const StepReport& report = recent_[i].report;
    TimelineRows rows = timeline_rows(programs_[recent_[i].program], report.timeline,
                                      report.routing, groups_, report.sent_bytes);
    rows.timeline.run_id = run_id_;
    rows.timeline.kind = "measured";
    rows.timeline.label = fmt::format("iteration {}", report.iteration);
    rows.timeline.iteration = report.iteration;
    db::insert(connection_, rows.timeline, rows.ops, rows.spans);
  }
  recent_.clear();
}

void TrainStore::finish() {
  flush();
  store_timelines();
  db::insert(connection_, ranks_);
  db::finish_run(connection_, run_id_, "done");
}

void TrainStore::abandon(const std::string& status, const std::string& error) noexcept {
  try {
    db::finish_run(connection_, run_id_, status, error);
    flush();
  } catch (const std::exception& other) {
    spdlog::warn("{}", other.what());
  }
}

}  // namespace moe
