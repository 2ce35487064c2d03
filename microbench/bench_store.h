#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/records.h"
#include "moe/communicator/ranks.h"

namespace microbench {

/// Writes one run of moe-bench into the database, row by row: what a killed run had measured stays.
/// Where another process locks the database meanwhile, measuring goes on and rows wait in memory:
/// the other ranks would wait too. Only the begin and the end of the run wait for the lock. Used on
/// rank 0.
class BenchStore {
 public:
  /// Stores the begin of the run, with this machine and its ranks. `time_limit_s`: of a wait for
  /// another's lock. Throws db::Error.
  BenchStore(const std::string& path, db::Run run, const std::vector<moe::RankInfo>& ranks,
             const std::vector<int>& threads, double time_limit_s);

  /// Throws db::Error (gone) where the database was taken away.
  void add(db::Measurement row);
  /// Stores what is left, and the end of the run: "done", or "failed" and why. Throws db::Error
  /// (locked) where the time limit passed.
  void finish(const std::string& status, const std::string& error);
  /// The same for a run that ends by an exception, which matters more than what the database says.
  void abandon(const std::string& status, const std::string& error) noexcept;

  std::int64_t run_id() const { return run_id_; }

 private:
  void store_waiting_rows();

  db::Connection connection_;
  double time_limit_s_;
  std::int64_t run_id_ = 0;
  std::vector<db::Measurement> waiting_;
  bool said_locked_ = false;
};

}  // namespace microbench
