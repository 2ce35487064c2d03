#include "microbench/bench_store.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "db/store.h"
#include "db/transaction.h"
#include "moe/run/machine.h"
#include "moe/train/train_store.h"

namespace microbench {
namespace {

/// How long a case waits for another process that writes. All ranks wait with it.
constexpr double kRowWait_s = 0.2;

}  // namespace

BenchStore::BenchStore(const std::string& path, db::Run run,
                       const std::vector<moe::RankInfo>& ranks, const std::vector<int>& threads,
                       double time_limit_s)
    : connection_(db::open_writer(path, {.busy_timeout_s = time_limit_s})),
      time_limit_s_(time_limit_s) {
  db::Transaction transaction(connection_, "begin a run of benchmarks");
  run_id_ = db::begin_run(connection_, std::move(run), moe::this_machine());
  db::insert(connection_, moe::rank_rows(run_id_, ranks, threads));
  transaction.commit();
  connection_.set_busy_timeout(kRowWait_s);
}

void BenchStore::add(db::SampledMeasurement row) {
  row.measurement.run_id = run_id_;
  waiting_.push_back(std::move(row));
  try {
    store_waiting_rows();
  } catch (const db::Error& error) {
    if (error.kind != db::ErrorKind::locked) throw;
    if (!said_locked_) spdlog::warn("{}: measuring goes on, rows are stored later", error.what());
    said_locked_ = true;
  }
}

void BenchStore::finish(const std::string& status, const std::string& error) {
  connection_.set_busy_timeout(time_limit_s_);
  store_waiting_rows();
  db::finish_run(connection_, run_id_, status, error);
}

void BenchStore::abandon(const std::string& status, const std::string& error) noexcept {
  try {
    finish(status, error);
  } catch (const std::exception& other) {
    if (error != other.what()) spdlog::warn("{}", other.what());
  }
}

void BenchStore::store_waiting_rows() {
  db::Transaction transaction(connection_, "store measurements");
  db::insert(connection_, waiting_);
  db::heartbeat_run(connection_, run_id_);
  transaction.commit();
  waiting_.clear();
}

}  // namespace microbench
