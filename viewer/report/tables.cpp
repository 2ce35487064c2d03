#include "viewer/report/tables.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <new>

#include "db/console/format_rows.h"
#include "db/query.h"
#include "db/timeline/read_timeline.h"

namespace viewer {

namespace {

// What `write` writes to a stream.
std::string written(const std::function<void(std::FILE*)>& write) {
  char* buffer = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&buffer, &size);
  if (stream == nullptr) throw std::bad_alloc();
  try {
    write(stream);
  } catch (...) {
    std::fclose(stream);
    std::free(buffer);
    throw;
  }
  std::fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owner(buffer, &std::free);
  return {buffer, size};
}

constexpr db::Style kCsv{db::Format::csv, false};

std::string of_query(const db::Connection& connection, const std::string& sql,
                     const std::vector<db::Cell>& values = {}) {
  return written([&](std::FILE* stream) {
    db::Query query(connection, sql, values);
    db::write_query(stream, kCsv, query);
  });
}

std::string rank_rows(const StudyFacts& facts) {
  return written([&](std::FILE* stream) {
    db::RowWriter rows(stream, kCsv,
                       {"timeline", "schedule", "kind", "rank", "computation_s", "communication_s",
                        "exposed_s", "exposed_transfer_s", "exposed_waiting_s", "exposed_bubble_s",
                        "copy_s", "host_s", "idle_s"});
    for (const TimelineFacts& timeline : facts.timelines) {
      const auto part = [&](double seconds) {
        return timeline.summary.knows_waiting ? db::Cell(seconds) : db::Cell();
      };
      for (const db::RankStatistics& rank : timeline.summary.ranks) {
        rows.row({timeline.timeline->info.id, timeline.title, timeline.timeline->info.kind,
                  std::int64_t{rank.rank}, rank.computation_s, rank.communication_s, rank.exposed_s,
                  part(rank.exposed_transfer_s()), part(rank.exposed_waiting_s),
                  part(rank.exposed_bubble_s), rank.copy_s, rank.host_s, rank.idle_s});
      }
    }
    rows.finish();
  });
}

std::string memory_rows(const db::Connection& connection, const StudyFacts& facts) {
  return written([&](std::FILE* stream) {
    db::RowWriter rows(stream, kCsv,
                       {"timeline", "schedule", "kind", "rank", "peak_at_s", "tensor", "role",
                        "pool", "tensors", "bytes", "begin_s", "end_s"});
    for (const TimelineFacts& of : facts.timelines) {
      const db::TimelineInfo& info = of.timeline->info;
      const MemoryTable table = read_memory(connection, info);
      const RankMemory* rank = fullest_rank(table);
      if (rank == nullptr) continue;
      for (const MemoryItem& item : items_at(table, *rank, rank->device.peak.at_s)) {
        const db::Allocation* one = item.allocation;
        rows.row({info.id, of.title, info.kind, std::int64_t{rank->rank}, rank->device.peak.at_s,
                  item.name, item.role, item.pool,
                  static_cast<std::int64_t>(one != nullptr ? 1 : item.tensors),
                  static_cast<std::int64_t>(item.bytes),
                  one != nullptr ? db::Cell(*one->begin_s) : db::Cell(),
                  one != nullptr ? db::Cell(*one->end_s) : db::Cell()});
      }
    }
    rows.finish();
  });
}

std::string exposed_rows(const StudyFacts& facts) {
  return written([&](std::FILE* stream) {
    db::RowWriter rows(stream, kCsv,
                       {"name", "kind", "phase", "layer", "duration_s", "exposed_s", "waiting_s",
                        "waited_for_rank", "which_ran", "computed_next"});
    for (const ExposedOp& op : facts.why.exposed) {
      db::Cell waiting, rank, ran;
      if (op.waiting_s) waiting = *op.waiting_s;
      if (op.late) {
        rank = std::int64_t{op.late->rank};
        ran = op.late->ran;
      }
      rows.row({op.sample.name, op.sample.kind, op.sample.phase, std::int64_t{op.sample.layer},
                op.duration_s, op.exposed_s, waiting, rank, ran, op.next});
    }
    rows.finish();
  });
}

}  // namespace

std::vector<CsvTable> csv_tables(const db::Connection& connection, const StudyFacts& facts) {
  const auto query = [&](const char* sql, std::int64_t id) {
    return of_query(connection, sql, {db::Cell(id)});
  };
  const std::int64_t study = facts.study.id;
  std::vector<CsvTable> tables = {
      {"trials.csv", "A row per schedule: the paper's, the predicted and the measured time.",
       query("SELECT * FROM trial_view WHERE study_id = ?1 "
             "ORDER BY measured_s IS NULL, measured_s, predicted_s",
             study)},
      {"repeats.csv", "A row per training of a schedule: the median of its iterations.",
       query("SELECT trial.id AS trial, trial.planner, trial_repeat.repeat, "
             "trial_repeat.run_id AS run, trial_repeat.measured_s, trial_repeat.steps "
             "FROM trial_repeat JOIN trial ON trial.id = trial_repeat.trial_id "
             "WHERE trial.study_id = ?1 ORDER BY trial.id, trial_repeat.repeat",
             study)},
      {"ranks.csv", "A row per rank of each timeline in the picture: where its time went.",
       rank_rows(facts)},
      {"memory.csv",
       "A row per tensor at the peak of the fullest rank of each timeline in the picture.",
       memory_rows(connection, facts)},
      {"exposed.csv",
       "A row per communication of the fastest schedule, with means over ranks: how much of it was "
       "exposed, and whom it waited for.",
       exposed_rows(facts)},
      {"iterations.csv", "A row per iteration of the fastest schedule's last repeat.",
       query("SELECT * FROM iteration_view WHERE run = ?1 ORDER BY iteration", facts.loads_run)},
      {"balance.csv", "A row per iteration and MoE layer of that training: how even the load was.",
       query("SELECT * FROM balance_view WHERE run = ?1 ORDER BY iteration, layer",
             facts.loads_run)},
      {"ranks_of_layers.csv",
       "A row per iteration, MoE layer and rank of that training: tokens asked for, kept, and "
       "computed after placement, and the replicas that the rank held.",
       query("SELECT * FROM rank_load_view WHERE run = ?1 ORDER BY iteration, layer, rank",
             facts.loads_run)}};
  std::ranges::move(search_tables(connection), std::back_inserter(tables));
  return tables;
}

std::vector<CsvTable> search_tables(const db::Connection& connection) {
  return {
      {"setups.csv",
       "A row per layout, micro-batches and schedule that a search found, the newest search first; "
       "on_front: 1 where no other one is as fast and as lean.",
       of_query(connection, "SELECT * FROM setup_view ORDER BY run DESC, settings, ranks, place")},
      {"fits.csv", "A row per fitted line that costs are predicted from, newest first.",
       of_query(connection, "SELECT * FROM fit_view ORDER BY started_at DESC, op")}};
}

}  // namespace viewer
