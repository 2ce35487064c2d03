#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "db/run_chain.h"
#include "db/run_links.h"
#include "db/run_products.h"
#include "moe/program/program.h"
#include "moe/program/timeline_rows.h"
#include "moe/rows/groups.h"
#include "moe/train/trainer.h"

namespace moe {

/// The ranks of a run as rows of the database, with peaks of 0. `threads` as in OpenDevice.
std::vector<db::RunRank> rank_rows(std::int64_t run_id, const std::vector<RankInfo>& ranks,
                                   const std::vector<int>& threads);

struct TrainStoreOptions {
  std::string database;
  int timelines = 1;         ///< typical iterations whose timeline is stored
  double time_limit_s = 60;  ///< the wait for a locked database at the begin and the end of the run
  double flush_interval_s = 1;
  std::size_t most_waiting_rows =
      2'000'000;  ///< rows of iterations and loads that may wait while the database is locked
  int steps = 1;  ///< iterations of the run, by which it is chosen whose loads are stored
  /// The loads (per layer, micro-batch, expert and rank) of the first iteration and of every
  /// loads_every-th are stored, and those of every iteration whose timeline is stored. 0: only the
  /// latter. None: chosen so that they make about kMostLoadRows rows.
  std::optional<int> loads_every = std::nullopt;
  std::vector<int> threads = {};  ///< [rank], as in OpenDevice
  /// The run whose checkpoint this one goes on from; it may be in another database.
  std::optional<db::RunIdentity> resumes = std::nullopt;
  int resumes_after = 0;                      ///< the last iteration of that checkpoint
  std::vector<db::RunProduct> products = {};  ///< of all devices; their run_id is set here
};

/// A million rows are about 30 MB.
inline constexpr std::int64_t kMostLoadRows = 1'000'000;

/// The interval at which loads are stored, so that `steps` iterations make at most `most_rows`
/// rows; at least the loads of one iteration are.
int loads_interval(std::int64_t rows_per_iteration, int steps,
                   std::int64_t most_rows = kMostLoadRows);

/// Writes a training run into the database while it runs, in batches of rows, so that a killed run
/// keeps all but the last second, and all up to its last checkpoint. It stores the losses and the
/// load balance of every iteration, and the loads of some. While another process has locked the
/// database, training goes on and rows wait in memory; only a checkpoint, the end of the run, or
/// too many rows, make it wait. Used on rank 0.
class TrainStore {
 public:
  /// Stores the begin of the run, with this machine, the first schedule and the ranks.
  TrainStore(const TrainStoreOptions& options, db::Run run, const db::Schedule& schedule,
             const std::vector<RankInfo>& ranks, Groups groups);

  /// The schedule and Program of the iterations from `iteration` on; called before the first
  /// iteration.
  void observe(int iteration, const Schedule& schedule, const Program& program);
  /// Keeps an iteration, and stores what waits where it has waited for long enough. Throws db::Error
  /// ((gone) where the database was deleted or moved); what is not stored then waits on.
  void observe(const StepReport& report);
  /// Keeps an iteration for the next time that rows are stored.
  void keep(const StepReport& report);
  void observe(const BalancedTurns& turns);
  /// Keeps them for the end of the run; their run_id is set here.
  void observe(std::vector<db::RunLink> links);
  /// [rank]: RunRank::share_of_others.
  void observe_others(const std::vector<double>& shares);
  /// Stores the rows that wait, before a checkpoint is complete. Throws db::Error; while another
  /// process has locked the database for long, they wait on.
  void flush_for_checkpoint();
  /// Stores the rows that wait, the timelines of the iterations nearest to the median duration (of
  /// warm-up only where there are no others), and the end of the run. Throws db::Error (locked)
  /// where the time limit passed.
  void finish();
  /// As finish, for a run that ended early ("failed", "killed") with `error`. Errors of the
  /// database are told and no more, since the caller has a failure to report that matters more; so
  /// are the iterations whose rows are lost then.
  void abandon(const std::string& status, const std::string& error) noexcept;

  std::int64_t run_id() const { return run_id_; }
  const db::RunIdentity& identity() const { return identity_; }
  /// The hosts to and from which bytes travelled slowly (db::judge_hosts).
  std::vector<std::string> slow_hosts() const {
    return db::judge_hosts(links_, ranks_).slow_players;
  }
  /// Known once an iteration was observed.
  std::optional<int> loads_every() const { return options_.loads_every; }

 private:
  bool stores_loads(int iteration) const;
  /// The loads of an iteration: by layer, micro-batch, source rank and expert; by layer and rank;
  /// and where experts were.
  struct Loads {
    std::vector<db::Load> loads;
    std::vector<db::RankLoad> of_ranks;
    std::vector<db::ExpertPlace> places;
  };
  /// Adds those of one iteration.
  void add_loads(Loads& rows, int iteration, const Routing& routing,
                 const std::map<int, ExpertPlacement>& placements) const;
  static void insert_loads(db::Connection& connection, const Loads& rows);
  void flush();
  void store_waiting_rows();
  void store_timelines();

  db::Connection connection_;
  /// By number from 0; the last is in force. Those that no waiting row or timeline needs are
  /// removed.
  std::map<int, db::Schedule> schedules_;
  std::map<int, Program> programs_;
  Groups groups_;
  TrainStoreOptions options_;
  std::int64_t run_id_ = 0;
  db::RunIdentity identity_;
  std::chrono::steady_clock::time_point flushed_at_ = std::chrono::steady_clock::now();
  bool said_locked_ = false;
  std::vector<db::RunRank> ranks_;
  std::vector<db::RunLink> links_;
  std::vector<db::Iteration> iterations_;
  std::vector<int> schedule_of_;  ///< [iteration of iterations_]: its schedule in schedules_
  Loads loads_;
  std::vector<db::Balance> balances_;
  /// [layer]: what gates asked for in the last iteration
  std::map<int, std::vector<std::int64_t>> expert_tokens_;
  struct Recent {
    StepReport report;
    int program = 0;  ///< the number of its Program in programs_
  };
  std::deque<Recent> recent_;
  std::int64_t tokens_per_iteration_ = 0;
  bool weighs_z_loss_ = false;
  std::map<int, int> first_rank_;              ///< [MoE layer]: the first rank of its stage
  std::map<int, ExpertPlacement> placements_;  ///< [layer], under the schedule in force
};

}  // namespace moe
