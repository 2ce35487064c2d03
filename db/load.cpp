#include "db/load.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>

#include "db/programs.h"
#include "db/statement.h"

namespace db {
namespace {

template <class Record>
Record load_one(const Connection& connection, std::int64_t id) {
  auto found = select<Record>(connection, "WHERE id = ?", id);
  if (found.empty()) {
    throw Error(ErrorKind::not_found,
                fmt::format("{}: no {} {}", connection.path(), Table<Record>::name, id));
  }
  return std::move(found.front());
}

/// Sets when memory of a rank is in use, as the view allocation has it.
void set_times(const Connection& connection, std::span<Allocation> of_rank) {
  struct Times {
    double begin_s = 0, end_s = 0;
  };
  std::unordered_map<int, Times> times;  // by op
  const Allocation& any = of_rank.front();
  visit_spans(connection, any.timeline_id, any.rank, [&](const Span& span) {
    const double end_s = span.start_s + span.duration_s;
    const auto [found, is_new] = times.try_emplace(span.op, Times{span.start_s, end_s});
    if (!is_new) found->second.end_s = std::max(found->second.end_s, end_s);
    return true;
  });
  for (Allocation& of : of_rank) {
    if (!of.first_op || !of.last_op) continue;
    const auto first = times.find(*of.first_op), last = times.find(*of.last_op);
    if (first == times.end() || last == times.end()) continue;
    of.begin_s = first->second.begin_s, of.end_s = last->second.end_s;
  }
}

/// The rows of the view allocation, which would sort all spans of the timeline.
std::vector<Allocation> load_allocations(const Connection& connection, std::int64_t timeline_id) {
  Statement statement(connection,
                      "SELECT timeline_id, rank, tensor, offset_bytes, bytes, first_op, last_op, "
                      "NULL, NULL FROM timeline_memory JOIN planned_tensor USING (plan_id) "
                      "WHERE timeline_id = ? ORDER BY rank, tensor");
  statement.bind(timeline_id);
  std::vector<Allocation> rows;
  RowBounds bounds(connection);
  while (statement.step()) {
    rows.push_back(statement.record<Allocation>());
    bounds.check(rows.back());
  }
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    while (end < rows.size() && rows[end].rank == rows[first].rank) ++end;
    set_times(connection, std::span(rows).subspan(first, end - first));
  }
  std::erase_if(rows, [](const Allocation& of) {
    return of.first_op && of.last_op && (!of.begin_s || !of.end_s);
  });
  return rows;
}

int last_of(const LoadFilter& filter) {
  return filter.last_iteration.value_or(std::numeric_limits<int>::max());
}

}  // namespace

std::vector<Run> load_runs(const Connection& connection, const RunFilter& filter) {
  return select<Run>(connection,
                     "WHERE (?1 = '' OR kind = ?1) AND (?2 = '' OR name = ?2) "
                     "AND (?3 = '' OR status = ?3) ORDER BY started_at DESC, id DESC LIMIT ?4",
                     filter.kind, filter.name, filter.status,
                     filter.limit > 0 ? filter.limit : std::int64_t{-1});
}
Run load_run(const Connection& connection, std::int64_t run_id) {
  return load_one<Run>(connection, run_id);
}
Machine load_machine(const Connection& connection, std::int64_t machine_id) {
  return load_one<Machine>(connection, machine_id);
}
Schedule load_schedule(const Connection& connection, std::int64_t schedule_id) {
  return load_one<Schedule>(connection, schedule_id);
}

std::vector<RunRank> load_run_ranks(const Connection& connection, std::int64_t run_id) {
  return select<RunRank>(connection, "WHERE run_id = ? ORDER BY rank", run_id);
}

std::optional<double> load_peak_flops_per_s(const Connection& connection, const Machine& machine,
                                            const std::string& device, const std::string& dtype,
                                            std::optional<int> threads) {
  Statement statement(connection,
                      "SELECT max(measurement.flops / measurement.time_s) FROM measurement "
                      "JOIN run ON run.id = measurement.run_id "
                      "JOIN machine ON machine.id = run.machine_id "
                      "WHERE machine.fingerprint = ?1 AND measurement.device = ?2 "
                      "AND measurement.dtype = ?3 AND measurement.time_s > 0 "
                      "AND (measurement.op GLOB 'linear*' OR measurement.op GLOB 'expert_linear*') "
                      "AND (?4 IS NULL OR ?4 = (SELECT threads FROM run_rank "
                      "                         WHERE run_rank.run_id = run.id AND rank = 0))");
  statement.bind(machine.fingerprint, device, dtype, threads);
  statement.step();
  return statement.value<std::optional<double>>(0);
}

std::vector<Iteration> load_iterations(const Connection& connection, std::int64_t run_id,
                                       int first_iteration) {
  return select<Iteration>(connection, "WHERE run_id = ? AND iteration >= ? ORDER BY iteration",
                           run_id, first_iteration);
}

std::vector<Load> load_loads(const Connection& connection, const LoadFilter& filter) {
  return select<Load>(connection,
                      "WHERE run_id = ?1 AND iteration BETWEEN ?2 AND ?3 "
                      "AND (?4 IS NULL OR layer = ?4) "
                      "ORDER BY run_id, iteration, layer, rank, expert, micro_batch",
                      filter.run_id, filter.first_iteration, last_of(filter), filter.layer);
}

std::vector<Load> load_expert_loads(const Connection& connection, const LoadFilter& filter) {
  Statement statement(connection,
                      "SELECT run_id, iteration, layer, 0, expert, sum(tokens), "
                      "CASE WHEN count(asked_tokens) = count(*) THEN sum(asked_tokens) END, -1 "
                      "FROM load "
                      "WHERE run_id = ?1 AND iteration BETWEEN ?2 AND ?3 "
                      "AND (?4 IS NULL OR layer = ?4) "
                      "GROUP BY run_id, iteration, layer, expert "
                      "ORDER BY run_id, iteration, layer, expert");
  statement.bind(filter.run_id, filter.first_iteration, last_of(filter), filter.layer);
  std::vector<Load> loads;
  RowBounds bounds(connection);
  while (statement.step()) {
    Load& load = loads.emplace_back(statement.record<Load>());
    bounds.check(load);
    load.rank = -1;
  }
  return loads;
}

std::vector<RankLoad> load_rank_loads(const Connection& connection, std::int64_t run_id) {
  return select<RankLoad>(connection, "WHERE run_id = ? ORDER BY iteration, layer, rank", run_id);
}
std::vector<ExpertPlace> load_expert_places(const Connection& connection, std::int64_t run_id) {
  return select<ExpertPlace>(connection, "WHERE run_id = ? ORDER BY iteration, layer, rank, expert",
                             run_id);
}

std::vector<int> load_recorded_iterations(const Connection& connection, std::int64_t run_id) {
  Statement statement(connection,
                      "SELECT DISTINCT iteration FROM load WHERE run_id = ? ORDER BY iteration");
  statement.bind(run_id);
  std::vector<int> iterations;
  while (statement.step()) iterations.push_back(statement.number<int>(0, "load", "iteration"));
  return iterations;
}

std::vector<Study> load_studies(const Connection& connection) {
  return select<Study>(connection, "ORDER BY created_at DESC, id DESC");
}

std::optional<Study> find_study(const Connection& connection, const std::string& name) {
  auto found = select<Study>(connection, "WHERE name = ?", name);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::vector<Trial> load_trials(const Connection& connection, std::int64_t study_id,
                               const std::string& status) {
  return select<Trial>(connection, "WHERE study_id = ?1 AND (?2 = '' OR status = ?2) ORDER BY id",
                       study_id, status);
}
Trial load_trial(const Connection& connection, std::int64_t trial_id) {
  return load_one<Trial>(connection, trial_id);
}
std::vector<TrialRepeat> load_trial_repeats(const Connection& connection, std::int64_t trial_id) {
  return select<TrialRepeat>(connection, "WHERE trial_id = ? ORDER BY repeat", trial_id);
}

std::vector<Fit> load_latest_fits(const Connection& connection, std::int64_t machine_id) {
  return select<Fit>(connection,
                     "WHERE id IN (SELECT max(fit.id) FROM fit JOIN run ON run.id = fit.run_id "
                     "WHERE ?1 = 0 OR coalesce(fit.machine_id, run.machine_id) = ?1 "
                     "GROUP BY fit.op, fit.device, fit.ranks, fit.link, fit.network, fit.nodes, "
                     "coalesce(fit.machine_id, run.machine_id)) "
                     "ORDER BY op, device, ranks, link, network, nodes, id",
                     machine_id);
}

std::vector<Measurement> load_measurements(const Connection& connection,
                                           const MeasurementFilter& filter) {
  return select<Measurement>(connection,
                             "WHERE (?1 = 0 OR run_id = ?1) AND (?2 = '' OR op = ?2) "
                             "AND (?3 = '' OR device = ?3) "
                             "ORDER BY run_id DESC, op, ranks, bytes, flops, id",
                             filter.run_id, filter.op, filter.device);
}

std::vector<TimelineInfo> load_timelines(const Connection& connection,
                                         const TimelineFilter& filter) {
  return select<TimelineInfo>(
      connection,
      "WHERE (?1 = 0 OR run_id = ?1) AND (?2 = 0 OR trial_id = ?2) "
      "AND (?3 = '' OR kind = ?3) AND (EXISTS (SELECT 1 FROM span WHERE "
      "timeline_id = timeline.id) OR NOT EXISTS (SELECT 1 FROM rank_activity "
      "WHERE timeline_id = timeline.id)) ORDER BY id",
      filter.run_id, filter.trial_id, filter.kind);
}
TimelineInfo load_timeline(const Connection& connection, std::int64_t timeline_id) {
  return load_one<TimelineInfo>(connection, timeline_id);
}

std::vector<TimelineOp> load_timeline_ops(const Connection& connection, std::int64_t timeline_id) {
  return select<TimelineOp>(connection, "WHERE timeline_id = ? ORDER BY op", timeline_id);
}

std::vector<OpEdge> load_op_edges(const Connection& connection, std::int64_t timeline_id) {
  return select<OpEdge>(connection, "WHERE timeline_id = ? ORDER BY op, before", timeline_id);
}

std::vector<RankGroup> load_rank_groups(const Connection& connection, std::int64_t timeline_id) {
  return select<RankGroup>(connection, "WHERE timeline_id = ? ORDER BY kind, rank", timeline_id);
}

TimelineMemory load_timeline_memory(const Connection& connection, std::int64_t timeline_id) {
  return {select<TimelineTensor>(connection, "WHERE timeline_id = ? ORDER BY tensor", timeline_id),
          load_allocations(connection, timeline_id)};
}

std::vector<Span> load_spans(const Connection& connection, std::int64_t timeline_id) {
  return select<Span>(connection, "WHERE timeline_id = ? ORDER BY rank, start_s, op", timeline_id);
}

std::vector<int> load_span_ranks(const Connection& connection, std::int64_t timeline_id) {
  Statement statement(connection,
                      "WITH RECURSIVE ranks(rank) AS ("
                      "SELECT min(rank) FROM span WHERE timeline_id = ?1 UNION ALL "
                      "SELECT (SELECT min(rank) FROM span WHERE timeline_id = ?1 "
                      "AND span.rank > ranks.rank) FROM ranks WHERE ranks.rank IS NOT NULL) "
                      "SELECT rank FROM ranks WHERE rank IS NOT NULL");
  statement.bind(timeline_id);
  std::vector<int> ranks;
  while (statement.step()) ranks.push_back(statement.number<int>(0, "span", "rank"));
  RowBounds bounds(connection);
  if (!ranks.empty()) bounds.check(Span{.timeline_id = timeline_id, .rank = ranks.back()});
  return ranks;
}

void visit_spans(const Connection& connection, std::int64_t timeline_id, int rank,
                 const std::function<bool(const Span&)>& visit) {
  // Not by Statement: what it does for each value takes longer than reading the value.
  constexpr char kSql[] =
      "SELECT start_s, op, duration_s, bytes, flops, waiting_s FROM span "
      "WHERE timeline_id = ? AND rank = ? ORDER BY start_s, op";
  sqlite3_stmt* prepared = nullptr;
  const auto check = [&](int code) {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    throw translate(sqlite3_extended_errcode(connection.handle()),
                    sqlite3_errmsg(connection.handle()), connection.handle(), connection.path(),
                    "read spans", connection.busy_timeout_s());
  };
  check(sqlite3_prepare_v2(connection.handle(), kSql, -1, &prepared, nullptr));
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(prepared,
                                                                             &sqlite3_finalize);
  check(sqlite3_bind_int64(prepared, 1, timeline_id));
  check(sqlite3_bind_int(prepared, 2, rank));
  Span span{timeline_id, rank, 0, 0, 0, 0, 0};
  RowBounds(connection).check(span);
  const auto expect = [&](const char* column, auto number, NumberRange range) {
    if (range.has(number)) return;
    refuse_number(connection.path(), Table<Span>::name, column, number, range,
                  fmt::format("timeline_id = {}", timeline_id));
  };
  const NumberRange ops = range_of("span", "op"), times = range_of("span", "start_s"),
                    sizes = range_of("span", "bytes"), work = range_of("span", "flops");
  for (int code = sqlite3_step(prepared); code != SQLITE_DONE; code = sqlite3_step(prepared)) {
    check(code);
    span.start_s = sqlite3_column_double(prepared, 0);
    const std::int64_t op = sqlite3_column_int64(prepared, 1);
    span.duration_s = sqlite3_column_double(prepared, 2);
    span.bytes = sqlite3_column_int64(prepared, 3);
    span.flops = sqlite3_column_double(prepared, 4);
    span.waiting_s.reset();
    if (sqlite3_column_type(prepared, 5) != SQLITE_NULL) {
      span.waiting_s = sqlite3_column_double(prepared, 5);
      expect("waiting_s", *span.waiting_s, times);
    }
    expect("start_s", span.start_s, times);
    expect("op", op, ops);
    expect("duration_s", span.duration_s, times);
    expect("bytes", span.bytes, sizes);
    expect("flops", span.flops, work);
    span.op = static_cast<int>(op);
    if (!visit(span)) return;
  }
}

}  // namespace db
