#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "moe/program/program.h"
#include "moe/program/timeline_rows.h"
#include "moe/rows/groups.h"
#include "moe/train/trainer.h"

namespace moe {

/// The ranks of a run as rows, their peaks still 0. `threads` as in OpenDevice.
std::vector<db::RunRank> rank_rows(std::int64_t run_id, const std::vector<RankInfo>& ranks,
                                   const std::vector<int>& threads);

struct TrainStoreOptions {
  std::string database;
  int timelines = 1;         ///< typical iterations whose timeline is stored
  double time_limit_s = 60;  ///< how long the begin and the end of the run wait for another's lock
  double flush_interval_s = 1;
  std::size_t most_waiting_rows = 2'000'000;  ///< of iterations and loads, while it lasts
  int steps = 1;  ///< iterations that the run is to have, to choose whose loads are stored
  /// Loads per layer, micro-batch, expert and rank are stored of the first iteration and every so many, 0 of none; of
  /// iterations whose timeline is stored always. None: of as many as make about kMostLoadRows rows.
  std::optional<int> loads_every = std::nullopt;
  std::vector<int> threads = {};  ///< by rank, as in OpenDevice
};

/// A million rows are about 30 MB.
inline constexpr std::int64_t kMostLoadRows = 1'000'000;

/// Iterations between those whose loads are stored, so that `steps` of them make at most `most_rows` rows, or
/// one iteration's.
int loads_interval(std::int64_t rows_per_iteration, int steps,
                   std::int64_t most_rows = kMostLoadRows);

/// Writes one training run into the database while it runs, batch by batch, so that a killed run
/// keeps all but the last second: of every iteration its losses and how even its loads were, of
/// some the loads themselves. Where another process locks the database meanwhile, training goes
/// on and batches wait in memory until it lets go; only the end of the run, or too many rows, wait
/// for it. Used on rank 0.
class TrainStore {
 public:
  /// Stores the begin of the run, with this machine, the schedule it begins with and its ranks.
  TrainStore(const TrainStoreOptions& options, db::Run run, const db::Schedule& schedule,
             const std::vector<RankInfo>& ranks, Groups groups);

  /// What the iterations from `iteration` on run; once before the first.
  void observe(int iteration, const Schedule& schedule, const Program& program);
  /// Throws db::Error (gone) where the database was taken away.
  void observe(const StepReport& report);
  /// Stores what is left, the timelines nearest to the median iteration (of warm-up only where there are no others),
  /// and the end of the run.
  /// Throws db::Error (locked) where the time limit passed.
  void finish();
  /// The same for a run that ended early ("failed", "killed") and why, as far as the database takes
  /// it: the caller has a failure to report that matters more.
  void abandon(const std::string& status, const std::string& error) noexcept;

  std::int64_t run_id() const { return run_id_; }
  /// Known once an iteration was observed.
  std::optional<int> loads_every() const { return options_.loads_every; }

 private:
  bool stores_loads(int iteration) const;
  /// Of every layer, micro-batch, source rank and expert.
  std::vector<db::Load> load_rows(int iteration, const Routing& routing) const;
  void flush();
  void store_waiting_rows();
  void store_timelines();

  db::Connection connection_;
  /// By number: the run's is 0, the last is in force; those gone that no row or timeline is waiting
  /// for.
  std::map<int, db::Schedule> schedules_;
  std::map<int, Program> programs_;
  Groups groups_;
  TrainStoreOptions options_;
  std::int64_t run_id_ = 0;
  double flushed_at_ = 0;
  bool said_locked_ = false;
  std::vector<db::RunRank> ranks_;
  std::vector<db::Iteration> iterations_;
  std::vector<int> ruled_by_;  ///< of iterations_: which of schedules_
  std::vector<db::Load> loads_;
  std::vector<db::Balance> balances_;
  std::map<int, std::vector<std::int64_t>> expert_tokens_;  ///< by layer, of the last iteration
  struct Recent {
    StepReport report;
    int program = 0;  ///< of programs_
  };
  std::deque<Recent> recent_;
  std::int64_t tokens_per_iteration_ = 0;
  bool weighs_z_loss_ = false;
  std::map<int, int> first_rank_;              ///< by MoE layer: of its pipeline stage
  std::map<int, ExpertPlacement> placements_;  ///< by layer, of the schedule that rules
};

}  // namespace moe
