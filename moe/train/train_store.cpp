#include "moe/train/train_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "db/console/statistics.h"
#include "db/store.h"
#include "db/transaction.h"
#include "moe/communicator/clock_offset.h"
#include "moe/memory/memory_rows.h"
#include "moe/rows/balance.h"
#include "moe/rows/row_layout.h"
#include "moe/run/machine.h"

namespace moe {
namespace {

/// How long an iteration waits for another process that writes; all ranks wait as long.
constexpr double kFlushWait_s = 0.2;
/// How long a run that failed waits to store its failure.
constexpr double kAbandonWait_s = 10;
/// How many of the last iterations the typical ones are chosen from.
constexpr std::size_t kRecentIterations = 16;

/// Says which iterations before a checkpoint have no rows, of the run that is resumed from it.
void say_missing(const db::Connection& connection, std::optional<std::int64_t> resumed, int last) {
  if (!resumed) {
    spdlog::warn("{}: does not have the run that wrote the checkpoint of iteration {}",
                 connection.path(), last);
    return;
  }
  const std::optional<db::LastStored> stored = db::last_stored(connection, *resumed);
  if (!stored) {
    spdlog::warn("{}: run {} has no rows: those up to iteration {} are missing", connection.path(),
                 *resumed, last);
  } else if (stored->iteration < last) {
    spdlog::warn("{}: run {} has rows up to iteration {}: those of {} to {} are missing",
                 connection.path(), stored->run_id, stored->iteration, stored->iteration + 1, last);
  }
}

}  // namespace

std::vector<db::RunRank> rank_rows(std::int64_t run_id, const std::vector<RankInfo>& ranks,
                                   const std::vector<int>& threads) {
  std::vector<db::RunRank> rows;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    db::RunRank& row = rows.emplace_back();
    row.run_id = run_id;
    row.rank = static_cast<int>(r);
    row.hostname = ranks[r].hostname;
    row.node = ranks[r].node;
    row.core_set = ranks[r].core_set;
    row.cores = ranks[r].cores;
    if (!threads.empty()) row.threads = threads[r];
    row.pid = ranks[r].pid;
    if (is_known(ranks[r].clock)) {
      row.clock_offset_s = ranks[r].clock.offset_s;
      row.clock_error_s = ranks[r].clock.error_s;
    }
  }
  return rows;
}

int loads_interval(std::int64_t rows_per_iteration, int steps, std::int64_t most_rows) {
  const std::int64_t most_iterations =
      std::max<std::int64_t>(1, most_rows / std::max<std::int64_t>(1, rows_per_iteration));
  return static_cast<int>((steps + most_iterations - 1) / most_iterations);
}

TrainStore::TrainStore(const TrainStoreOptions& options, db::Run run, const db::Schedule& schedule,
                       const std::vector<RankInfo>& ranks, Groups groups)
    : connection_(db::open_writer(options.database, {.busy_timeout_s = options.time_limit_s})),
      groups_(std::move(groups)),
      options_(options) {
  db::Transaction transaction(connection_, "begin a training run");
  if (run.started_at == 0) run.started_at = db::now();
  if (options.resumes) {
    run.resumes_run_id = db::find_run(connection_, *options.resumes);
    say_missing(connection_, run.resumes_run_id, options.resumes_after);
  }
  const db::Machine machine = this_machine();
  identity_ = {run.started_at, run.pid, machine.hostname};
  run_id_ = db::begin_run(connection_, std::move(run), machine, schedule);
  ranks_ = rank_rows(run_id_, ranks, options.threads);
  db::insert(connection_, ranks_);
  for (db::RunProduct& product : options_.products) product.run_id = run_id_;
  db::insert(connection_, options_.products);
  transaction.commit();
  connection_.set_busy_timeout(kFlushWait_s);
}

void TrainStore::observe(int, const Schedule& schedule, const Program& program) {
  const int number = schedules_.empty() ? 0 : schedules_.rbegin()->first + 1;
  schedules_[number] = schedule_row(schedule);
  programs_[number] = program;
  weighs_z_loss_ = !program.z_losses.empty();
  tokens_per_iteration_ =
      program.tensors[program.tokens.front()].rows * program.micro_batches * stage_ranks(groups_);
  first_rank_.clear();
  placements_ = placements(program);
  for (const Op& op : program.ops) {
    if (counts_of(op) != nullptr) first_rank_[op.layer] = op.stage * stage_ranks(groups_);
  }
}

void TrainStore::observe(const StepReport& report) {
  keep(report);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - flushed_at_;
  if (waited.count() >= options_.flush_interval_s) flush();
}

void TrainStore::keep(const StepReport& report) {
  iterations_.push_back({run_id_, report.iteration, report.loss, report.auxiliary_loss,
                         report.heldout_loss, report.duration_s, tokens_per_iteration_,
                         report.dropped, std::nullopt, std::nullopt});
  if (weighs_z_loss_) iterations_.back().z_loss = report.z_loss;
  iterations_.back().learning_rate = report.learning_rate;
  iterations_.back().gradient_norm = report.gradient_norm;
  iterations_.back().flops = report.flops;
  if (report.exposed) {
    iterations_.back().exposed_s = report.exposed->all_s;
    iterations_.back().exposed_waiting_s = report.exposed->waiting_s;
    iterations_.back().exposed_bubble_s = report.exposed->bubble_s;
  }
  schedule_of_.push_back(schedules_.rbegin()->first);
  for (const LayerRouting& layer : add_micro_batches(report.routing).layers) {
    db::Balance& row = balances_.emplace_back(balance_of(
        layer, groups_, std::exchange(expert_tokens_[layer.layer], asked_expert_tokens(layer)),
        placed_tokens(report.routing, layer.layer, groups_, placements_[layer.layer])));
    row.run_id = run_id_;
    row.iteration = report.iteration;
  }
  if (!options_.loads_every) {
    std::int64_t counts = 0;
    for (const LayerRouting& layer : report.routing.layers) {
      counts += static_cast<std::int64_t>(layer.tokens.size()) * layer.experts;
    }
    options_.loads_every = loads_interval(counts, options_.steps);
  }
  if (stores_loads(report.iteration)) {
    add_loads(loads_, report.iteration, report.routing, placements_);
  }
  for (std::size_t r = 0; r < report.planned_peak_bytes.size(); ++r) {
    ranks_[r].predicted_peak_bytes =
        std::max(ranks_[r].predicted_peak_bytes, report.planned_peak_bytes[r]);
    ranks_[r].measured_peak_bytes =
        std::max(ranks_[r].measured_peak_bytes, report.touched_peak_bytes[r]);
  }
  if (options_.timelines > 0 && !report.timeline.ranks.empty()) {
    recent_.push_back({report, programs_.rbegin()->first});
    if (recent_.size() > std::max<std::size_t>(kRecentIterations, options_.timelines)) {
      recent_.pop_front();
    }
  }
  const int last = programs_.rbegin()->first;
  programs_.erase(programs_.begin(),
                  programs_.lower_bound(recent_.empty() ? last : recent_.front().program));
}

void TrainStore::observe(const BalancedTurns& turns) {
  connection_.set_busy_timeout(options_.time_limit_s);
  db::store_balanced_share(connection_, run_id_, turns.share());
}

void TrainStore::observe(std::vector<db::RunLink> links) {
  links_ = std::move(links);
  for (db::RunLink& link : links_) link.run_id = run_id_;
}

void TrainStore::observe_others(const std::vector<double>& shares) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r].share_of_others = shares.at(r);
}

void TrainStore::add_loads(Loads& rows, int iteration, const Routing& routing,
                           const std::map<int, ExpertPlacement>& placements) const {
  for (const LayerRouting& layer : routing.layers) {
    const int first = first_rank_.at(layer.layer);
    for (int r = 0; r < static_cast<int>(layer.tokens.size()); ++r) {
      for (int e = 0; e < layer.experts; ++e) {
        rows.loads.push_back({run_id_, iteration, layer.layer, first + r, e, layer.tokens[r][e],
                              std::nullopt, layer.micro_batch});
        if (!layer.asked.empty()) rows.loads.back().asked_tokens = layer.asked[r][e];
      }
    }
  }
  for (const LayerRouting& layer : add_micro_batches(routing).layers) {
    const int first = first_rank_.at(layer.layer);
    const auto found = placements.find(layer.layer);
    const ExpertPlacement placement = found == placements.end() ? ExpertPlacement{} : found->second;
    const auto placed = placed_tokens(routing, layer.layer, groups_, placement);
    for (db::RankLoad& row : rank_loads(layer, groups_, first, placed)) {
      row.run_id = run_id_;
      row.iteration = iteration;
      rows.of_ranks.push_back(row);
    }
    for (db::ExpertPlace& row : expert_places(routing, layer.layer, groups_, first, placement)) {
      row.run_id = run_id_;
      row.iteration = iteration;
      rows.places.push_back(row);
    }
  }
}

void TrainStore::insert_loads(db::Connection& connection, const Loads& rows) {
  db::insert(connection, rows.loads);
  db::insert(connection, rows.of_ranks);
  db::insert(connection, rows.places);
}

bool TrainStore::stores_loads(int iteration) const {
  const int every = options_.loads_every.value_or(1);
  return every > 0 && (iteration == 1 || iteration % every == 0);
}

void TrainStore::flush() {
  flushed_at_ = std::chrono::steady_clock::now();
  try {
    store_waiting_rows();
  } catch (const db::Error& error) {
    if (error.kind != db::ErrorKind::locked) throw;
    if (!said_locked_) spdlog::warn("{}; training goes on and stores later", error.what());
    said_locked_ = true;
    const std::size_t rows = loads_.loads.size() + loads_.of_ranks.size() + loads_.places.size();
    if (iterations_.size() + balances_.size() + rows < options_.most_waiting_rows) return;
    connection_.set_busy_timeout(options_.time_limit_s);
    store_waiting_rows();
    connection_.set_busy_timeout(kFlushWait_s);
  }
}

void TrainStore::flush_for_checkpoint() {
  // The other ranks wait meanwhile.
  connection_.set_busy_timeout(std::min(options_.time_limit_s / 4, kAbandonWait_s));
  flush();
  connection_.set_busy_timeout(kFlushWait_s);
}

void TrainStore::store_waiting_rows() {
  db::Transaction transaction(connection_, "store iterations");
  std::map<int, std::int64_t> ids;
  for (std::size_t i = 0; i < iterations_.size(); ++i) {
    const int schedule = schedule_of_[i];
    if (schedule == 0) continue;  // the run's
    if (!ids.contains(schedule)) {
      ids[schedule] = db::find_or_insert(connection_, schedules_.at(schedule));
    }
    iterations_[i].schedule_id = ids[schedule];
  }
  db::insert(connection_, iterations_);
  db::insert(connection_, balances_);
  insert_loads(connection_, loads_);
  db::heartbeat_run(connection_, run_id_);
  transaction.commit();
  iterations_.clear();
  schedule_of_.clear();
  balances_.clear();
  loads_ = {};
  if (!schedules_.empty()) schedules_.erase(schedules_.begin(), std::prev(schedules_.end()));
}

void TrainStore::store_timelines() {
  const auto warms_up = [](const Recent& recent) { return recent.report.warms_up; };
  std::vector<double> durations;
  for (const Recent& recent : recent_) {
    if (!warms_up(recent)) durations.push_back(recent.report.duration_s);
  }
  const double median = durations.empty() ? 0 : db::median(durations);
  // Iterations of the warm-up are taken only where there are no others.
  const auto place = [&](const Recent& recent) {
    return std::pair(warms_up(recent), std::abs(recent.report.duration_s - median));
  };
  std::vector<const Recent*> typical;
  for (const Recent& recent : recent_) typical.push_back(&recent);
  std::ranges::sort(typical, {}, [&](const Recent* recent) { return place(*recent); });
  for (int i = 0; i < options_.timelines && i < static_cast<int>(typical.size()); ++i) {
    const StepReport& report = typical[i]->report;
    const Program& program = programs_.at(typical[i]->program);
    TimelineRows rows =
        timeline_rows(program, report.timeline, report.routing, groups_, report.sent_bytes);
    rows.memory = memory_rows(program, report.timeline, report.routing, groups_);
    rows.timeline.run_id = run_id_;
    rows.timeline.kind = db::kMeasured;
    rows.timeline.label = fmt::format("iteration {}", report.iteration);
    rows.timeline.iteration = report.iteration;
    insert(connection_, rows);
    if (!stores_loads(report.iteration)) {
      Loads loads;
      add_loads(loads, report.iteration, report.routing, placements(program));
      insert_loads(connection_, loads);
    }
  }
  recent_.clear();
}

void TrainStore::finish() {
  connection_.set_busy_timeout(options_.time_limit_s);
  store_waiting_rows();
  store_timelines();
  db::insert(connection_, ranks_);
  db::insert(connection_, links_);
  db::finish_run(connection_, run_id_, "done");
}

void TrainStore::abandon(const std::string& status, const std::string& error) noexcept {
  try {
    connection_.set_busy_timeout(std::min(options_.time_limit_s, kAbandonWait_s));
    db::finish_run(connection_, run_id_, status, error);
    store_waiting_rows();
  } catch (const std::exception& other) {
    if (error.find(other.what()) == std::string::npos) spdlog::warn("{}", other.what());
    if (iterations_.empty()) return;
    spdlog::warn("{}: the rows of iterations {} to {} of run {} are lost", connection_.path(),
                 iterations_.front().iteration, iterations_.back().iteration, run_id_);
  }
}

}  // namespace moe
