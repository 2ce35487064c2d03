#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/measurement_samples.h"
#include "db/records.h"
#include "moe/communicator/ranks.h"

namespace microbench {

/// Writes one run of moe-bench into the database, row by row, so that a killed run keeps its
/// measurements. While another process has locked the database, measuring goes on and rows wait in
/// memory, since all ranks would otherwise wait. Only the begin and the end of the run wait for the
/// lock. Used on rank 0.
class BenchStore {
 public:
  /// Stores the begin of the run, with this machine and its ranks. Waits at most `time_limit_s` for
  /// a lock. Throws db::Error.
  BenchStore(const std::string& path, db::Run run, const std::vector<moe::RankInfo>& ranks,
             const std::vector<int>& threads, double time_limit_s);

  /// Throws db::Error (gone) where the database was deleted or moved.
  void add(db::SampledMeasurement row);
  /// Stores the rows that wait, and the end of the run: "done", or "failed" and why. Throws
  /// db::Error (locked) after the time limit.
  void finish(const std::string& status, const std::string& error);
  /// As finish, for a run that ends by an exception. Errors of the database are ignored, since the
  /// exception matters more.
  void abandon(const std::string& status, const std::string& error) noexcept;

  std::int64_t run_id() const { return run_id_; }

 private:
  void store_waiting_rows();

  db::Connection connection_;
  double time_limit_s_;
  std::int64_t run_id_ = 0;
  std::vector<db::SampledMeasurement> waiting_;
  bool said_locked_ = false;
};

}  // namespace microbench
